// What an attempt has used up that is told after its end counts once, wherever a kill of the server
// falls: before its event, and between that and the answer. strace kills the real server at the
// n-th append to its log, and at the n-th sync, for each n until the answer; who told it then tells
// it again. The answer to that says which of the two it was.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include <boost/json/serialize.hpp>

#include "server/executors/executor.h"
#include "server/text/described_json.h"
#include "tests/crash/server_test.h"
#include "tests/crash/wal_fault.h"
#include "tests/eventually.h"
#include "tests/fixtures/file_content.h"

namespace signalbox::test {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// Upper bound on the calls of one kind from the start until the answer; no sweep comes near it.
constexpr int moments_max = 40;

class LateUsageKills : public ServerTest {
 protected:
  // Has `prepare` make a log with an attempt that has ended without a word of what it has used up,
  // and tells that over a kill at each call.
  template <class Prepare>
  void sweep(const Prepare& prepare) {
    fs::create_directories(server_.data());
    // A tick of the board would shift the number of a write.
    write_text(server_.data() / "signalbox.toml",
               "[board]\nheartbeat = \"366d\"\nsynthesizer = \"366d\"\nprune = \"366d\"\n");
    start();
    prepare();
    if (HasFatalFailure()) return;
    ASSERT_EQ(server_.stop().exit_code, 0) << server_.log();
    fs::copy(server_.data(), prepared(), fs::copy_options::recursive);
    const fs::path log = log_after_a_start();
    ASSERT_FALSE(log.empty()) << server_.log();
    std::set<std::string> said_after_a_kill;
    for (const char* call : {"write", "fdatasync"}) {
      bool was_killed = true;
      for (int number = 1; was_killed; ++number) {
        SCOPED_TRACE(std::string(call) + " " + std::to_string(number));
        ASSERT_LT(number, moments_max) << "the kill never came after the answer";
        restore();
        ASSERT_TRUE(
            launch_with_wal_fault(server_, log, call, "signal=KILL", std::to_string(number)));
        was_killed = false;
        const std::string said = tell_over_kills(was_killed);
        if (was_killed) said_after_a_kill.insert(said);
        expect_counted_once();
        server_.kill();
        if (HasFailure()) return;
      }
    }
    EXPECT_TRUE(said_after_a_kill.contains("recorded")) << "no kill came before the event";
    EXPECT_TRUE(said_after_a_kill.contains("known")) << "no kill came between event and answer";
  }

  void fail_the_run_of_a_lost_runner() {
    const json::object registered = call("runner.register", {{"name", "one"}});
    const json::value& runner = registered.at("runner");
    int number = 0;
    const auto report = [&] {
      return call("runner.exchange", {{"runner", runner},
                                      {"key", registered.at("key")},
                                      {"start", 1},
                                      {"number", ++number},
                                      {"instance", "i"},
                                      {"labels", json::array{"gpu"}},
                                      {"slots", 1},
                                      {"lease_ms", 600'000}});
    };
    (void)report();
    run_ = start_run({{"goal", "g"},
                      {"pipeline",
                       {{"name", "p"},
                        {"runs_on", json::array{"gpu"}},
                        {"station", json::array{{{"name", "a"},
                                                 {"executor", "process"},
                                                 {"command", json::array{"true"}},
                                                 {"retry", {{"max_retries", 0}}}}}}}}});
    ASSERT_TRUE(eventually([&] { return !report().at("orders").as_array().empty(); }))
        << server_.log();
    EXPECT_EQ(call("runner.evict", {{"runner", runner}}).at("changed"), true);
    ASSERT_TRUE(eventually([&] { return run(run_).at("status") == "failed"; })) << server_.log();
    JobResult result;
    result.usage = used;
    method_ = "runner.finish";
    params_ = {{"runner", runner},
               {"key", registered.at("key")},
               {"job_id", run_ + "-a-1"},
               {"result", to_json(result)}};
  }

  void lose_the_lease_of_a_worker() {
    run_ = start_run(
        {{"goal", "g"},
         {"pipeline",
          {{"name", "p"},
           {"station",
            json::array{{{"name", "a"}, {"retry", {{"max_retries", 3}, {"backoff", "1h"}}}}}}}}});
    const json::value claim =
        call("station.claim", {{"worker", "w"}, {"run_id", run_}, {"lease_ms", 10}}).at("claim");
    ASSERT_TRUE(claim.is_object());
    ASSERT_TRUE(eventually([&] { return count(run_, "StationAttemptFailed") == 1; }))
        << server_.log();
    method_ = "station.complete";
    params_ = {{"run_id", run_},         {"station", "a"},         {"token", claim.at("token")},
               {"outcome", "succeeded"}, {"usage", to_json(used)}, {"command_id", "end-1"}};
  }

 private:
  [[nodiscard]] fs::path prepared() const { return scratch_.path() / "prepared"; }
  void restore() {
    fs::remove_all(server_.data());
    fs::copy(prepared(), server_.data(), fs::copy_options::recursive);
  }
  // Returns the write-ahead log of a server that starts on what was prepared: files are numbered
  // the same way each time. Empty if none starts.
  [[nodiscard]] fs::path log_after_a_start() {
    restore();
    if (!server_.start()) return {};
    fs::path newest;
    for (const auto& file : fs::directory_iterator(server_.data() / "log")) {
      const bool is_log = file.path().extension() == ".log";
      if (is_log && (newest.empty() || newest < file.path())) newest = file.path();
    }
    server_.kill();
    return newest;
  }
  // Tells the usage until there is an answer, and returns what that says of it.
  std::string tell_over_kills(bool& was_killed) {
    std::string said;
    EXPECT_TRUE(eventually([&] {
      if (!server_.running()) {
        EXPECT_EQ(server_.wait().signal, SIGKILL) << server_.log();
        was_killed = true;
        EXPECT_TRUE(server_.start()) << server_.log();
      }
      const auto answer = answer_to(method_, params_);
      if (answer) said = said_in(*answer);
      return !said.empty() && said != "not_recorded";
    })) << server_.log();
    return said;
  }
  static std::string said_in(const json::object& answer) {
    const json::value whole(answer);
    for (const char* place : {"/result/usage", "/error/data/details/usage"}) {
      boost::system::error_code absent;
      if (const json::value* said = whole.find_pointer(place, absent)) {
        return std::string(said->as_string());
      }
    }
    return {};
  }
  void expect_counted_once() {
    EXPECT_EQ(count(run_, "LateUsageReported"), 1U);
    EXPECT_EQ(run(run_).at("used"), to_json(used)) << json::serialize(run(run_));
    const auto again = answer_to(method_, params_);
    ASSERT_TRUE(again);
    EXPECT_EQ(said_in(*again), "known");
    EXPECT_EQ(count(run_, "LateUsageReported"), 1U);
  }

  const Usage used{1'000, 10, 1};
  std::string run_;
  const char* method_ = "";
  json::object params_;
};

TEST_F(LateUsageKills, OfARunnerCountsOnce) {  // A5, N5
  sweep([this] { fail_the_run_of_a_lost_runner(); });
}

TEST_F(LateUsageKills, OfAWorkerWhoseLeaseWasOverCountsOnce) {  // A5, P4
  sweep([this] { lose_the_lease_of_a_worker(); });
}

}  // namespace
}  // namespace signalbox::test
