// What an attempt has used up that is told after its end counts once, wherever a kill of the server
// falls: before its event, and between that and the answer. strace kills the real server at the
// n-th append to its log, and at the n-th sync, for each n until the answer; who told it then tells
// it again. The answer to that says which of the two it was.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <set>
#include <string>

#include <boost/json/serialize.hpp>

#include "tests/crash/late_usage.h"
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
  // Has `prepare` make a log with an attempt that has ended, and tells what that has used up over a
  // kill at each call.
  template <class Prepare>
  void sweep(const Prepare& prepare) {
    fs::create_directories(server_.data());
    // A tick of the board would shift the number of a write.
    write_text(server_.data() / "signalbox.toml",
               "[board]\nheartbeat = \"366d\"\nsynthesizer = \"366d\"\nprune = \"366d\"\n");
    start();
    late_ = prepare();
    ASSERT_FALSE(HasFailure()) << server_.log();
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

  const ServerCall call_ = [this](const std::string& method, const json::object& params) {
    return call(method.c_str(), params);
  };
  const Usage used{1'000, 10, 1};

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
      const auto answer = answer_to(late_.method.c_str(), late_.params);
      if (answer) said = said_of_usage(*answer);
      return !said.empty() && said != "not_recorded";
    })) << server_.log();
    return said;
  }
  void expect_counted_once() {
    EXPECT_EQ(count(late_.run_id, "LateUsageReported"), 1U);
    EXPECT_EQ(run(late_.run_id).at("used"), to_json(used)) << json::serialize(run(late_.run_id));
    const auto again = answer_to(late_.method.c_str(), late_.params);
    ASSERT_TRUE(again);
    EXPECT_EQ(said_of_usage(*again), "known");
    EXPECT_EQ(count(late_.run_id, "LateUsageReported"), 1U);
  }

  LateUsageCall late_;
};

TEST_F(LateUsageKills, OfARunnerCountsOnce) {  // A5, N5
  sweep([this] { return lose_runner(call_, used); });
}

TEST_F(LateUsageKills, OfAWorkerWhoseLeaseWasOverCountsOnce) {  // A5, P4
  sweep([this] { return lose_worker(call_, used); });
}

}  // namespace
}  // namespace signalbox::test
