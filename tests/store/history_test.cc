// The upcast of old event versions, with an event type of this test; and the upcasts of the stored
// events that have a second version.
#include "store/history.h"

#include <gtest/gtest.h>

#include <boost/describe/class.hpp>

#include "domain/event_parts.h"
#include "store/codec.h"
#include "store/policy_adopted_v1.h"
#include "store/run_cancel_requested_v1.h"
#include "store/run_started_v1.h"
#include "store/station_claimed_v1.h"

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
}

}  // namespace
}  // namespace test
}  // namespace signalbox
