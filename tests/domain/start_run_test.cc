// Starting a run: the order of its guards, idempotency keys, command ids, pinned pipelines, and the
// limits of what is remembered.
#include <gtest/gtest.h>

#include "domain/limits.h"
#include "tests/domain/given_when_then.h"

namespace signalbox {
namespace {

class StartRunTest : public GivenWhenThen {
 protected:
  StartRunTest() {
    start.goal = "goal";
    start.run_id = run;
    start.request_digest = digest_of(1);
    start.pipeline_digest = digest_of(0x90);
    start.pipeline = pipeline;
  }

  PipelineDefinition pipeline{"one", {worker_station("a")}};
  StartRun start;
};

TEST_F(StartRunTest, TheFirstEventPinsTheDefinition) {
  when(start);
  then({started(pipeline)});
  EXPECT_EQ(the_run().status, RunStatus::queued);
  EXPECT_EQ(*the_run().pipeline, pipeline);
}

TEST_F(StartRunTest, NoPipelineMeansTheDefaultOne) {
  start.pipeline.reset();
  when(start);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(event_as<RunStarted>(events[0].event)->pipeline, default_pipeline());
}

TEST_F(StartRunTest, APipelineSeenBeforeIsNotStoredAgain) {
  given({started(pipeline)});
  start.run_id = uuid_of(2);
  when(start);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_FALSE(event_as<RunStarted>(events[0].event)->pipeline.has_value());
  EXPECT_EQ(world.find_run(uuid_of(2))->pipeline, the_run().pipeline) << "they share it";
}

// Each command also has the faults of all later guards: the first guard that fails gives the
// answer.
TEST_F(StartRunTest, GuardsAreAskedInTheirOrder) {
  given({started(pipeline, "key")});
  start.run_id = uuid_of(2);
  start.idempotency_key = "key";
  start.request_digest = digest_of(2);
  start.pipeline->stations.clear();
  start.labels[""] = "no name";
  start.base = "--force";
  start.repository = "relative";
  start.input = std::string(limits::input_bytes_max + 1, 'x');
  start.goal = "";

  const auto rejected_field = [&] { return std::get<std::string>(rejection->details[0].value); };
  when(start);
  then_rejected(ErrorCode::INVALID_PARAMS);
  EXPECT_EQ(rejected_field(), "goal");
  start.goal = "goal";
  when(start);
  then_rejected(ErrorCode::LIMIT_EXCEEDED);
  EXPECT_EQ(rejected_field(), "input");
  start.input = "{}";
  when(start);
  then_rejected(ErrorCode::INVALID_PARAMS);
  EXPECT_EQ(rejected_field(), "repository");
  start.repository = "/repository";
  when(start);
  then_rejected(ErrorCode::INVALID_PARAMS);
  EXPECT_EQ(rejected_field(), "base");
  start.base = "main";
  when(start);
  then_rejected(ErrorCode::INVALID_PARAMS);
  EXPECT_EQ(rejected_field(), "labels");
  start.labels = {{"team", "rail"}};
  when(start);
  then_rejected(ErrorCode::PIPELINE_INVALID);
  start.pipeline = pipeline;
  when(start);
  then_rejected(ErrorCode::IDEMPOTENCY_CONFLICT);
  start.request_digest = digest_of(1);
  when(start);
  then_nothing();
}

// Git is given it.
TEST_F(StartRunTest, ABaseIsOneLineThatNamesACommit) {  // P11
  for (const std::string& base :
       {std::string("-x"), std::string("^main"), std::string("a\nb"), std::string("a\0b", 3)}) {
    start.base = base;
    when(start);
    then_rejected(ErrorCode::INVALID_PARAMS);
    EXPECT_EQ(std::get<std::string>(rejection->details[0].value), "base");
  }
}

TEST_F(StartRunTest, TooMuchIsRefused) {
  start.goal = std::string(limits::goal_bytes_max + 1, 'x');
  when(start);
  then_rejected(ErrorCode::LIMIT_EXCEEDED);
  start.goal = std::string(limits::goal_bytes_max, 'x');
  for (std::size_t i = 0; i <= limits::labels_max; ++i) start.labels["l" + std::to_string(i)] = "";
  when(start);
  then_rejected(ErrorCode::LIMIT_EXCEEDED);
  start.labels = {{"a=b", "c"}};
  when(start);
  then_rejected(ErrorCode::INVALID_PARAMS);
}

TEST_F(StartRunTest, TheSameKeyAndBodyIsTheSameRun) {  // S2
  given({started(pipeline, "key")});
  start.run_id = uuid_of(2);
  start.idempotency_key = "key";
  when(start);
  then_nothing();
  EXPECT_EQ(world.run_by_idempotency_key.at("key"), run);
}

TEST_F(StartRunTest, TheSameKeyWithAnotherBodyIsAConflict) {  // S2
  given({started(pipeline, "key")});
  start.run_id = uuid_of(2);
  start.idempotency_key = "key";
  start.request_digest = digest_of(2);
  when(start);
  then_rejected(ErrorCode::IDEMPOTENCY_CONFLICT);
  ASSERT_EQ(rejection->next_commands.size(), 1u);
  EXPECT_EQ(rejection->next_commands[0], "signalbox run get " + to_string(run));
}

TEST_F(StartRunTest, AKeyOutlivesItsRun) {  // S2
  given({started(pipeline, "key"), claimed("a"), succeeded("a"), run_succeeded()});
  start.run_id = uuid_of(2);
  start.idempotency_key = "key";
  when(start);
  then_nothing();
  start.request_digest = digest_of(2);
  when(start);
  then_rejected(ErrorCode::IDEMPOTENCY_CONFLICT);
}

TEST_F(StartRunTest, ACommandIdIsRememberedWithTheFirstPositionOfItsCommit) {
  given({started({"two", {process_station("a")}})});
  when(DispatchStation{run, uuid_of(9)}, "command-1");
  ASSERT_EQ(events.size(), 2u);
  const RememberedCommand* remembered = world.commands.find("command-1");
  ASSERT_NE(remembered, nullptr);
  EXPECT_EQ(remembered->position, 2u);
  EXPECT_EQ(world.commands.size(), 1u);
}

TEST_F(StartRunTest, AnIdlePipelineIsKeptForTheNextRunOfItsKind) {
  given({started(pipeline), claimed("a"), succeeded("a"), run_succeeded()});
  ASSERT_EQ(world.pipelines.size(), 1u);
  EXPECT_EQ(world.pipelines.begin()->second.idle_since, 4u);
  start.run_id = uuid_of(2);
  when(start);
  EXPECT_FALSE(event_as<RunStarted>(events[0].event)->pipeline.has_value());
  EXPECT_EQ(world.pipelines.begin()->second.idle_since, 0u);
}

TEST_F(StartRunTest, TheOldestIdlePipelineIsForgotten) {
  start.pipeline = pipeline;
  for (std::size_t number = 0; number <= limits::idle_pipelines_max; ++number) {
    start.run_id = uuid_of(static_cast<std::uint8_t>(number % 200));
    start.run_id.bytes[0] = static_cast<std::uint8_t>(number / 200);
    start.pipeline_digest.bytes[30] = static_cast<std::uint8_t>(number / 256);
    start.pipeline_digest.bytes[31] = static_cast<std::uint8_t>(number % 256);
    when(start);
    when(CancelRun{start.run_id, {}});
  }
  EXPECT_EQ(world.pipelines.size(), limits::idle_pipelines_max);
  start.pipeline_digest.bytes[30] = 0;
  start.pipeline_digest.bytes[31] = 0;
  EXPECT_FALSE(world.pipelines.contains(start.pipeline_digest)) << "the first has gone";
  start.pipeline_digest.bytes[31] = 1;
  EXPECT_TRUE(world.pipelines.contains(start.pipeline_digest)) << "the second hasn't";
}

// The oldest ended run is forgotten with its key; from then on only the read model knows it.
TEST_F(StartRunTest, AKeyIsForgottenWithItsEndedRun) {
  const auto numbered = [](std::size_t number) {
    RunId id = uuid_of(static_cast<std::uint8_t>(number));
    id.bytes[1] = static_cast<std::uint8_t>(number >> 8U);
    id.bytes[0] = static_cast<std::uint8_t>(number >> 16U);
    return id;
  };
  for (std::size_t number = 0; number <= limits::remembered_ended_runs_max; ++number) {
    run = numbered(number);
    given({started(pipeline, "key-" + std::to_string(number)), StationEvent{StationCanceled{"a"}},
           RunEvent{RunCanceled{}}});
  }
  EXPECT_EQ(world.ended_runs.size(), limits::remembered_ended_runs_max);
  EXPECT_EQ(world.run_by_idempotency_key.size(), limits::remembered_ended_runs_max);
  EXPECT_EQ(world.ended_runs.find(numbered(0)), nullptr);
  EXPECT_FALSE(world.run_by_idempotency_key.contains("key-0"));
  EXPECT_TRUE(world.run_by_idempotency_key.contains("key-1"));
  when(CancelRun{numbered(0), {}});
  then_rejected(ErrorCode::RUN_NOT_FOUND);
  when(CancelRun{numbered(1), {}});
  then_rejected(ErrorCode::RUN_TERMINAL);
}

// An ended run with an idempotency key stays until it is the oldest, and an open run stays.
TEST_F(StartRunTest, EndedRunsArePrunedAfterTheirTime) {  // H8
  constexpr std::int64_t hour_ms = 3'600'000;
  const auto ended = [this](std::uint8_t number, const char* key) {
    run = uuid_of(number);
    given({started(pipeline, key), StationEvent{StationCanceled{"a"}}, RunEvent{RunCanceled{}}});
  };
  ended(1, "");
  ended(2, "key");
  run = uuid_of(3);
  given({started(pipeline)});
  const EndedRun first = *world.ended_runs.find(uuid_of(1));
  now.wall_ns = first.ended_at_ns + hour_ms * 1'000'000 - 1;
  when(PruneRuns{hour_ms});
  then_nothing();
  ++now.wall_ns;
  when(PruneRuns{hour_ms});
  then({ServerEvent{RunsPruned{first.ended_at, 1}}});
  EXPECT_EQ(world.ended_runs.find(uuid_of(1)), nullptr);
  EXPECT_NE(world.ended_runs.find(uuid_of(2)), nullptr);
  EXPECT_NE(world.find_run(uuid_of(3)), nullptr);
  when(PruneRuns{hour_ms});
  then_nothing();
}

TEST_F(StartRunTest, ServerLivesAreCountedAndACrashIsSeen) {
  when(StartServer{"1"});
  then({ServerEvent{ServerStarted{1, "1", PreviousEnd::none}}});
  when(StartServer{"1"});
  then({ServerEvent{ServerStarted{2, "1", PreviousEnd::crashed}}});
  when(StopServer{});
  then({ServerEvent{ServerStopped{2}}});
  when(StartServer{"2"});
  then({ServerEvent{ServerStarted{3, "2", PreviousEnd::clean}}});
}

}  // namespace
}  // namespace signalbox
