// The upcast of old event versions, with an event type of this test; and the upcasts of the stored
// events that have a second version.
#include "store/history.h"

#include <gtest/gtest.h>

#include <boost/describe/class.hpp>

#include "domain/event_parts.h"
#include "store/codec.h"
#include "store/frozen_project_events.h"
#include "store/frozen_run_events.h"
#include "store/sha256.h"

namespace signalbox {

struct SignalSetV1 {
  std::string name;
};
BOOST_DESCRIBE_STRUCT(SignalSetV1, (), (name))

struct SignalSetV2 {
  std::string name;
  std::int32_t seconds = 0;
};
BOOST_DESCRIBE_STRUCT(SignalSetV2, (), (name, seconds))

struct SignalSet {
  static constexpr EventTag tag{9001, 3, "SignalSet"};
  std::string name;
  std::int64_t milliseconds = 0;
  bool clear = false;

  friend bool operator==(const SignalSet&, const SignalSet&) = default;
};
BOOST_DESCRIBE_STRUCT(SignalSet, (), (name, milliseconds, clear))

SignalSetV2 upcast(SignalSetV1 old) { return {std::move(old.name), 30}; }
SignalSet upcast(SignalSetV2 old) { return {std::move(old.name), old.seconds * 1000, false}; }

template <>
struct History<SignalSet> {
  using Frozen = std::tuple<SignalSetV1, SignalSetV2>;
};

namespace test {
namespace {

template <class T>
SignalSet through_bytes(const T& stored, std::uint16_t version) {
  std::string bytes;
  described::encode(stored, bytes);
  SignalSet event;
  described::decode(
      bytes, [&](described::Reader& reader) { described::read_version(version, reader, event); });
  return event;
}

TEST(History, BringsEveryVersionUpToDate) {
  EXPECT_EQ(through_bytes(SignalSetV1{"home"}, 1), (SignalSet{"home", 30'000, false}));
  EXPECT_EQ(through_bytes(SignalSetV2{"home", 7}, 2), (SignalSet{"home", 7000, false}));
  EXPECT_EQ(through_bytes(SignalSet{"home", 7, true}, 3), (SignalSet{"home", 7, true}));
}

TEST(History, DoesNotTakeOneVersionForAnother) {
  EXPECT_THROW(through_bytes(SignalSetV1{"home"}, 2), std::exception);
  EXPECT_THROW(through_bytes(SignalSetV2{"home", 7}, 1), std::exception);
  EXPECT_THROW(through_bytes(SignalSetV2{"home", 7}, 3), std::exception);
}

template <class T>
Event decoded(const T& stored, std::uint16_t number, std::uint16_t version) {
  std::string bytes;
  described::encode(stored, bytes);
  const auto event = decode_payload(number, version, bytes);
  EXPECT_TRUE(event) << (event ? "" : event.error().message);
  return event.value_or(Event{});
}

TEST(History, AStationClaimedWithoutALockHasNone) {
  const Event event =
      decoded(StationClaimedV1{"plan", 2, Strategy::simplified, "ann", 5000}, 301, 1);
  EXPECT_EQ(*event_as<StationClaimed>(event),
            (StationClaimed{"plan", 2, Strategy::simplified, "ann", 5000, 0}));
}

TEST(History, ACancelOfAnEarlierVersionIsNoRejection) {
  const Event event = decoded(RunCancelRequestedV1{"enough"}, 204, 1);
  EXPECT_EQ(*event_as<RunCancelRequested>(event), (RunCancelRequested{"enough", false}));
}

TEST(History, APolicyThatKnewNoChangedChecksAsksAPerson) {  // A7
  PolicyAdoptedV1 old;
  old.digest.bytes.fill(7);
  old.policy.max_attempts = 9;
  old.policy.merge_verified = false;
  old.policy.websocket_events = false;
  const Event event = decoded(old, 702, 1);
  Policy policy;
  policy.max_attempts = 9;
  policy.merge_verified = false;
  policy.websocket_events = false;
  EXPECT_EQ(*event_as<PolicyAdopted>(event), (PolicyAdopted{old.digest, policy}));
  EXPECT_EQ(policy.checks_changed, ChecksChanged::approve);
}

// Returns a pipeline of which one station names max_retries, and one doesn't.
PipelineDefinitionV2 retried_in_v2() {
  StationDefinitionV2 named;
  named.name = "named";
  named.timeout_ms = 7;
  named.retry = {2, 5, {Strategy::original, Strategy::simplified, Strategy::simplified}};
  named.stall_actions = {StallAction::fail};
  named.checks = ChecksDefinition{};
  StationDefinitionV2 plain;
  plain.name = "plain";
  plain.retry = {2, 5, {Strategy::original, Strategy::simplified}};
  return {"both", {named, plain}, {1, 2, 3}};
}

// Expects `pipeline` to mean what retried_in_v2() meant.
void expect_retried(const PipelineDefinition& pipeline) {
  EXPECT_EQ(pipeline.name, "both");
  EXPECT_EQ(pipeline.budget, (Budget{1, 2, 3}));
  ASSERT_EQ(pipeline.stations.size(), 2U);
  const std::vector<Strategy> each_once{Strategy::original, Strategy::simplified};
  EXPECT_EQ(pipeline.stations[0].retry, (RetryPolicy{2, 5, each_once, true}));
  EXPECT_EQ(pipeline.stations[1].retry, (RetryPolicy{2, 5, each_once, false}));
  EXPECT_EQ(pipeline.stations[0].timeout_ms, 7);
  EXPECT_EQ(pipeline.stations[0].stall_actions, std::vector<StallAction>{StallAction::fail});
  EXPECT_TRUE(pipeline.stations[0].checks);
}

TEST(History, ALastStrategyThatIsThereTwiceMeansThatMaxRetriesIsNamed) {  // A13
  RunStartedV2 started;
  started.goal = "goal";
  started.pipeline = retried_in_v2();
  started.max_retries = 4;
  const Event start = decoded(started, 201, 2);
  ASSERT_TRUE(event_as<RunStarted>(start)->pipeline);
  expect_retried(*event_as<RunStarted>(start)->pipeline);
  EXPECT_EQ(event_as<RunStarted>(start)->goal, "goal");
  EXPECT_EQ(event_as<RunStarted>(start)->max_retries, 4U);
  RunRetriedV1 retried;
  retried.pipeline = retried_in_v2();
  retried.used.turns = 9;
  retried.attempts = {1, 2};
  const Event retry = decoded(retried, 209, 1);
  ASSERT_TRUE(event_as<RunRetried>(retry)->pipeline);
  expect_retried(*event_as<RunRetried>(retry)->pipeline);
  EXPECT_EQ(event_as<RunRetried>(retry)->used.turns, retried.used.turns);
  EXPECT_EQ(event_as<RunRetried>(retry)->attempts, retried.attempts);
  const Event put = decoded(ProjectPutV1{"/repository", "main", "", retried_in_v2()}, 701, 1);
  expect_retried(event_as<ProjectPut>(put)->pipeline);
  EXPECT_EQ(event_as<ProjectPut>(put)->base, "main");
}

// A run on a user's disk has pinned its pipeline by the digest of the older bytes.
TEST(History, APinnedPipelineIsEncodedAsItsDigestSays) {
  std::string before;
  described::encode(retried_in_v2(), before);
  const auto pipeline = decode_pipeline(before);
  ASSERT_TRUE(pipeline) << pipeline.error().message;
  expect_retried(*pipeline);
  EXPECT_EQ(encode_pipeline(*pipeline, sha256(before)), before);
  std::string now;
  described::encode(*pipeline, now);
  EXPECT_NE(now, before);
  EXPECT_EQ(encode_pipeline(*pipeline, pipeline_digest(*pipeline)), now);
  EXPECT_EQ(*decode_pipeline(now), *pipeline);
  EXPECT_FALSE(decode_pipeline("x"));
}

TEST(History, AStationThatKnewNoStallIsNeverTakenForStalled) {
  RunStartedV1 old;
  old.goal = "goal";
  old.labels = {{"team", "red"}};
  old.pipeline = PipelineDefinitionV1{
      "one", {{"plan", ExecutorKind::process, {"true"}, 1, 2, 3, true, {"HOME"}, "origin", {}}}};
  old.run_root = "/root";
  const Event event = decoded(old, 201, 1);
  const auto* started = event_as<RunStarted>(event);
  ASSERT_NE(started, nullptr);
  EXPECT_EQ(started->goal, "goal");
  EXPECT_EQ(started->labels, old.labels);
  EXPECT_EQ(started->run_root, "/root");
  ASSERT_TRUE(started->pipeline);
  const StationDefinition& station = started->pipeline->stations.at(0);
  EXPECT_EQ(station.name, "plan");
  EXPECT_EQ(station.executor, ExecutorKind::process);
  EXPECT_EQ(station.command, (std::vector<std::string>{"true"}));
  EXPECT_EQ(station.timeout_ms, 1);
  EXPECT_EQ(station.heartbeat_timeout_ms, 2);
  EXPECT_EQ(station.cancel_grace_ms, 3);
  EXPECT_TRUE(station.require_result);
  EXPECT_EQ(station.environment, (std::vector<std::string>{"HOME"}));
  EXPECT_EQ(station.remote, "origin");
  EXPECT_EQ(station.stall_after_ms, 0);
  EXPECT_EQ(station.stall_actions, StationDefinition{}.stall_actions);
  EXPECT_FALSE(station.retry.max_retries_named);
}

}  // namespace
}  // namespace test
}  // namespace signalbox
