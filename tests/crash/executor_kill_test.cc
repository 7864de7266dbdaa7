// The guarantees of every executor when the server is killed: a job is submitted once, and a cancel
// is confirmed, wherever the kill falls. strace kills the real server at the n-th append to its
// log, and at the n-th sync, for each n of a run's lifetime. So it dies before the intent, between
// intent and submit, between submit and ref, while it polls, and between a result and its event.
//
// Each run of a test tries a third of the numbers; SIGNALBOX_EVERY_FAULT=1 tries all.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/platform/process_table.h"
#include "tests/crash/station_site.h"
#include "tests/crash/wal_fault.h"
#include "tests/eventually.h"
#include "tests/fixtures/random_seed.h"

namespace signalbox::test {
namespace {

namespace json = boost::json;

constexpr std::chrono::seconds run_patience{30 * slowness};
constexpr std::chrono::milliseconds poll_least{2};
constexpr std::chrono::milliseconds poll_most{20};
// Upper bound on the calls of one kind in a run's lifetime; no sweep comes near it.
constexpr int calls_max = 60;

// A run whose server is killed at most once, by strace, and then restarted.
class RunKilledOnce {
 public:
  RunKilledOnce(const std::string& executor, const std::string& call, int number,
                std::vector<std::string> options = {})
      : site_(make(scratch_.path() / "site"), executor),
        server_(scratch_.path() / "data", std::move(options)) {
    // A tick of the board, at ten past the hour, would shift the number of a write.
    std::filesystem::create_directories(server_.data());
    write_text(server_.data() / "signalbox.toml",
               "[board]\nheartbeat = \"366d\"\nsynthesizer = \"366d\"\nprune = \"366d\"\n");
    EXPECT_TRUE(launch_with_wal_fault(server_, first_wal(server_), call, "signal=KILL",
                                      std::to_string(number)));
    if (site_.is_worker()) worker_.emplace(site_, server_.socket());
  }

  StationSite& site() { return site_; }
  [[nodiscard]] bool was_killed() const { return was_killed_; }
  // Returns the type of the run's latest event before the kill; "" if it had none yet.
  [[nodiscard]] const std::string& last_before_kill() const { return last_before_kill_; }
  [[nodiscard]] const std::string& run_id() const { return run_id_; }

  void start(Work work, const std::string& key = "first") {
    json::object params = site_.run_of(work);
    params["idempotency_key"] = key;
    run_id_ = std::string(call("run.start", params).at("run_id").as_string());
  }
  // Sends the request again until there is an answer.
  json::object call(const char* method, const json::object& params) {
    std::optional<json::object> answer;
    await([&] { return (answer = try_call(method, params)).has_value(); }, method);
    return answer ? result_of(answer) : json::object{};
  }
  json::object run() { return call("run.get", {{"run_id", run_id_}}).at("run").as_object(); }
  void await_status(const char* status) {
    await([&] { return run().at("status") == status; }, status);
  }
  std::size_t count(const char* type) {
    return call("events.read", {{"run_id", run_id_}, {"types", {type}}, {"limit", 1000}})
        .at("events")
        .as_array()
        .size();
  }
  template <class Condition>
  void await(const Condition& condition, const char* what) {
    const auto begun = std::chrono::steady_clock::now();
    while (!condition()) {
      revive();
      const std::chrono::nanoseconds waited = std::chrono::steady_clock::now() - begun;
      ASSERT_LT(waited, run_patience) << what << "\n" << server_.log();
      // strace stops the server at each system call of an answer, so it isn't asked all the time.
      std::this_thread::sleep_for(
          std::clamp<std::chrono::nanoseconds>(waited / 8, poll_least, poll_most));
    }
  }
  void kill_now() {
    server_.kill();
    ASSERT_TRUE(server_.start()) << server_.log();
  }

 private:
  static std::filesystem::path make(const std::filesystem::path& path) {
    std::filesystem::create_directories(path);
    return path;
  }

  std::optional<json::object> try_call(const char* method, const json::object& params) {
    return answer_of(server_.socket(), method, params);
  }

  // Restarts the server, without a tracer, if it was killed.
  void revive() {
    if (server_.running() || was_killed_) return;
    EXPECT_EQ(server_.wait().signal, SIGKILL) << server_.log();
    was_killed_ = true;
    ASSERT_TRUE(server_.start()) << server_.log();
    note_last_before_kill();
  }
  void note_last_before_kill() {
    const auto answer = try_call("events.read", {{"limit", 1000}});
    ASSERT_TRUE(answer);
    const json::object page = result_of(answer);
    int starts = 0;
    for (const json::value& event : page.at("events").as_array()) {
      if (event.at("type") == "ServerStarted" && ++starts == 2) return;
      const std::string stream(event.at("stream").as_string());
      if (stream.starts_with("run/")) last_before_kill_ = std::string(event.at("type").as_string());
    }
    if (starts < 2) last_before_kill_.clear();  // killed before its first start was in the log
  }

  TemporaryDirectory scratch_;
  StationSite site_;
  ServerProcess server_;
  std::optional<OutsideWorker> worker_;  // destroyed before the server
  std::string run_id_;
  bool was_killed_ = false;
  std::string last_before_kill_;
};

class ExecutorKills : public ::testing::TestWithParam<std::string> {
 protected:
  static bool is_worker() { return GetParam() == "worker"; }
  // Returns the first number whose turn it is, from `least` on; the others follow by the stride.
  static int first_number(const FaultRotation& rotation, int least) {
    return least + static_cast<int>(rotation.first);
  }

  void expect_done_once(RunKilledOnce& subject) {
    EXPECT_EQ(subject.site().executions(), 1U);
    EXPECT_EQ(subject.count("StationClaimed"), 1U);
    // An external worker submits nothing; its claim is what exists once.
    EXPECT_EQ(subject.count("StationSubmitIntended"), is_worker() ? 0U : 1U);
  }
};

INSTANTIATE_TEST_SUITE_P(Each, ExecutorKills, ::testing::ValuesIn(every_executor),
                         [](const auto& each) { return each.param; });

// The executors that need a job slot. An outside worker needs none: its claim is the intent.
class JobExecutorKills : public ExecutorKills {};

std::vector<std::string> every_job_executor() {
  std::vector<std::string> executors = every_executor;
  std::erase(executors, "worker");
  return executors;
}

INSTANTIATE_TEST_SUITE_P(Each, JobExecutorKills, ::testing::ValuesIn(every_job_executor()),
                         [](const auto& each) { return each.param; });

TEST_P(ExecutorKills, WhereverAKillFallsTheWorkIsDoneOnce) {  // S6
  std::set<std::string> last_events;
  const FaultRotation rotation(3);
  const int stride = static_cast<int>(rotation.stride);
  for (const char* call : {"write", "fdatasync"}) {
    bool killed = true;
    for (int number = first_number(rotation, 1); killed && number < calls_max; number += stride) {
      SCOPED_TRACE(std::string(call) + " " + std::to_string(number));
      RunKilledOnce subject(GetParam(), call, number);
      subject.start(Work::until_let_go);
      subject.await([&] { return subject.site().executions() == 1; }, "the work begins");
      // On a slow machine the work may end before the ref is written; both are then written
      // together. A job that was submitted before the kill is found again by its id, and polled.
      const auto is_called = [&] {
        return is_worker() || subject.was_killed() || subject.count("StationExternalRefSet") == 1;
      };
      subject.await(is_called, "what it is called is known");
      subject.site().release_held();
      subject.await_status("succeeded");
      expect_done_once(subject);
      killed = subject.was_killed();
      if (killed) last_events.insert(subject.last_before_kill());
      if (HasFailure()) return;
    }
  }
  std::set<std::string> wanted{""};  // killed before the run existed
  if (is_worker()) {
    // Between the claim and its answer, and before the completion. The start of the run is mostly
    // written together with the claim of a worker that waits for one.
    wanted.insert("StationClaimed");
  } else {
    // If a job slot is free, the start of a run and the intent are written together (see below).
    wanted.insert("StationExternalRefSet");  // while it polls, and between the result and its event
    // The session of a claude agent is known with the intent, so there is no moment between the
    // two.
    if (GetParam() != "coderunner") wanted.insert("StationSubmitIntended");
  }
  EXPECT_FALSE(last_events.empty()) << "nothing was killed";
  if (stride > 1) return;  // the others have their turn
  for (const std::string& event : wanted) {
    EXPECT_TRUE(last_events.contains(event)) << "no kill came right after \"" << event << '"';
  }
}

// Without a free job slot a run has no intent.
TEST_P(JobExecutorKills, BeforeTheIntentTheRunWaitsForItsTurnOverKills) {  // S6
  RunKilledOnce subject(GetParam(), "write", calls_max,
                        {"--jobs-max", "1", "--remote-jobs-max", "1"});
  subject.start(Work::until_let_go);
  subject.await([&] { return subject.site().executions() == 1; }, "the first one's work begins");
  subject.start(Work::until_let_go, "second");
  for (int kill = 0; kill < 3; ++kill) {
    subject.kill_now();
    EXPECT_EQ(subject.run().at("status"), "queued");
    EXPECT_EQ(subject.count("StationSubmitIntended"), 0U);
  }
  EXPECT_EQ(subject.site().executions(), 1U);
  subject.site().release_held();
  subject.await_status("succeeded");
  EXPECT_EQ(subject.site().executions(), 2U);
  EXPECT_EQ(subject.count("StationSubmitIntended"), 1U);
}

TEST_P(ExecutorKills, WhileItWorksTheServerMayDieAsOftenAsItLikes) {  // S6
  RunKilledOnce subject(GetParam(), "write", calls_max);
  subject.start(Work::until_let_go);
  subject.await([&] { return subject.site().executions() == 1; }, "the work begins");
  for (int kill = 0; kill < 4; ++kill) {
    subject.kill_now();
    EXPECT_EQ(subject.run().at("status"), "running");
  }
  subject.site().release_held();
  subject.await_status("succeeded");
  expect_done_once(subject);
}

TEST_P(ExecutorKills, WhereverAKillFallsACancelIsConfirmed) {  // S11
  bool killed = true;
  const FaultRotation rotation(3);
  for (int number = first_number(rotation, 2); killed && number < calls_max;
       number += static_cast<int>(rotation.stride)) {
    SCOPED_TRACE(number);
    RunKilledOnce subject(GetParam(), "write", number);
    subject.start(Work::until_let_go);
    subject.await([&] { return subject.site().executions() == 1; }, "the work begins");
    subject.call("run.cancel", {{"run_id", subject.run_id()}, {"command_id", "cancel"}});
    subject.await_status("canceled");
    killed = subject.was_killed();
    EXPECT_EQ(subject.site().executions(), 1U);
    EXPECT_EQ(subject.count("StationCanceled"), 1U);
    if (is_worker()) continue;  // its work isn't ours to end: its next request is refused
    EXPECT_EQ(subject.count("RunCancelRequested"), 1U);
    EXPECT_EQ(subject.count("CancelConfirmed"), 1U);
    EXPECT_EQ(subject.count("CancelEscaped"), 0U);
    if (subject.site().is_remote()) {
      EXPECT_TRUE(subject.site().endpoint().was_canceled("call-1"));
    } else {
      // The supervisor itself ends a moment after it has written how its job ended.
      EXPECT_TRUE(eventually([&] {
        return processes_with_environment("SIGNALBOX_RUN_ID=" + subject.run_id()).empty();
      }));
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace signalbox::test
