// Run roots of open runs: each has its own. S14
#include <gtest/gtest.h>

#include "domain/evolve.h"
#include "domain/run_roots.h"
#include "tests/domain/given_when_then.h"

namespace signalbox {
namespace {

const PipelineDefinition one_station{"one", {worker_station("a")}};

Event started_at(const std::string& run_root) {
  Event event = started(one_station);
  std::get<RunStarted>(std::get<RunEvent>(event)).run_root = run_root;
  return event;
}

const std::vector<Event> events_of_failure{
    claimed("a"),
    StationEvent{StationFailed{"a", 1, {Outcome::failed, ErrorClass::config, "X", "it broke"}, {}}},
    RunEvent{RunFailed{"a", ErrorClass::config, "X", "it broke"}}};

class RunRootsTest : public GivenWhenThen {
 protected:
  RunRootsTest() {
    start.goal = "goal";
    start.request_digest = digest_of(1);
    start.pipeline_digest = digest_of(0x90);
    start.pipeline = one_station;
  }

  // Starts a run of this root.
  void when_started(std::uint8_t number, const std::string& run_root) {
    start.run_id = uuid_of(number);
    start.run_root = run_root;
    when(start);
  }
  [[nodiscard]] std::string detail(const std::string& key) const {
    for (const Detail& each : rejection->details) {
      if (each.key == key) return std::get<std::string>(each.value);
    }
    return {};
  }

  StartRun start;
};

TEST_F(RunRootsTest, TheRootOfAnOpenRunIsRefused) {  // S14
  given({started_at("/srv/a")});
  when_started(2, "/srv/a");
  then_rejected(ErrorCode::RUN_ROOT_TAKEN);
  EXPECT_EQ(detail("run_id"), to_string(run));
  EXPECT_EQ(detail("status"), "queued");
  EXPECT_EQ(detail("taken_run_root"), "/srv/a");
  EXPECT_NE(rejection->message.find("run " + to_string(run)), std::string::npos);
  EXPECT_EQ(rejection->next_commands.front(), "signalbox run why " + to_string(run));
}

TEST_F(RunRootsTest, HoweverItIsWritten) {  // S14
  given({started_at("/srv/./a/")});
  for (const char* same : {"/srv/a", "/srv/a/", "//srv//a", "/srv/b/../a/.", "/../srv/a"}) {
    when_started(2, same);
    ASSERT_TRUE(rejection.has_value()) << same;
    EXPECT_EQ(rejection->code, ErrorCode::RUN_ROOT_TAKEN) << same;
  }
}

TEST_F(RunRootsTest, SoIsOneWithinItOrAroundIt) {  // S14
  given({started_at("/srv/a")});
  when_started(2, "/srv/a/workspace/b");
  then_rejected(ErrorCode::RUN_ROOT_TAKEN);
  EXPECT_NE(rejection->message.find("lies in that of run"), std::string::npos);
  when_started(2, "/srv");
  then_rejected(ErrorCode::RUN_ROOT_TAKEN);
  EXPECT_NE(rejection->message.find("inside"), std::string::npos);
  when_started(2, "/");
  then_rejected(ErrorCode::RUN_ROOT_TAKEN);
}

TEST_F(RunRootsTest, ItsNeighboursAreFree) {  // S14
  given({started_at("/srv/a")});
  std::uint8_t number = 2;
  for (const char* other : {"/srv/a-b", "/srv/ab", "/srv/b", "/srv/.a", "/other/srv/a"}) {
    when_started(number++, other);
    then_names({"RunStarted"});
  }
  start.run_root.reset();
  start.run_id = uuid_of(number);
  when(start);
  then_names({"RunStarted"});
}

TEST_F(RunRootsTest, AnEndedRunLeavesItsRootToTheNext) {  // S14
  given({started_at("/srv/a"), claimed("a"), succeeded("a"), run_succeeded()});
  when_started(2, "/srv/a");
  then_names({"RunStarted"});
  when_started(3, "/srv/a");
  then_rejected(ErrorCode::RUN_ROOT_TAKEN);
  EXPECT_EQ(detail("run_id"), to_string(uuid_of(2)));
  when(CancelRun{uuid_of(2), {}});
  when_started(3, "/srv/a");
  then_names({"RunStarted"});
}

TEST_F(RunRootsTest, ARepeatedStartIsTheSameRun) {  // S2, S14
  start.idempotency_key = "key";
  when_started(1, "/srv/a");
  when_started(2, "/srv/a");
  then_nothing();
  start.idempotency_key = "other";
  when_started(2, "/srv/a");
  then_rejected(ErrorCode::RUN_ROOT_TAKEN);
}

TEST_F(RunRootsTest, TheDirectoryOfARunIsItsOwn) {  // S14
  start.directory_of = uuid_of(7);
  when_started(2, "/data/runs/" + to_string(uuid_of(7)));
  then_rejected(ErrorCode::RUN_ROOT_TAKEN);
  EXPECT_EQ(detail("run_id"), to_string(uuid_of(7)));
}

// Earlier versions let both begin. Each ends as it would alone.
TEST_F(RunRootsTest, ALogWithTwoOpenRunsOfOneRootIsReplayed) {  // S14
  given({started_at("/srv/a")});
  run = uuid_of(2);
  given({started_at("/srv/a")});
  EXPECT_EQ(world.runs.size(), 2U);
  when(CancelRun{uuid_of(1), {}});
  then_names({"StationCanceled", "RunCanceled"});
  when_started(3, "/srv/a");
  then_rejected(ErrorCode::RUN_ROOT_TAKEN);
  EXPECT_EQ(detail("run_id"), to_string(uuid_of(2)));
  when(CancelRun{uuid_of(2), {}});
  when_started(3, "/srv/a");
  then_names({"RunStarted"});
}

TEST_F(RunRootsTest, ARetryNeedsItsRootAsWell) {  // S11, S14
  std::vector<Event> past{started_at("/srv/a")};
  past.insert(past.end(), events_of_failure.begin(), events_of_failure.end());
  given(past);
  std::vector<Record> log;
  for (const Event& event : past) {
    Record record;
    record.position = static_cast<Position>(log.size()) + 1;
    record.stream = Stream::run(run);
    record.event = event;
    log.push_back(std::move(record));
  }
  RetryRun retry;
  retry.run_id = run;
  retry.failed = evolved_failed_run(log, one_station);
  retry.failed_at = log.back().position;
  when_started(2, "/srv/a/b");
  then_names({"RunStarted"});
  when(retry);
  then_rejected(ErrorCode::RUN_ROOT_TAKEN);
  EXPECT_EQ(detail("run_id"), to_string(uuid_of(2)));
  when(CancelRun{uuid_of(2), {}});
  when(retry);
  then_names({"RunRetried"});
  when_started(3, "/srv/a");
  then_rejected(ErrorCode::RUN_ROOT_TAKEN);
  EXPECT_EQ(detail("run_id"), to_string(run));
}

}  // namespace
}  // namespace signalbox
