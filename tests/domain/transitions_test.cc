// The transition tables of runs and stations, pair by pair: that they are the expected ones, and
// that evolve() follows them.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "domain/evolve.h"
#include "tests/domain/given_when_then.h"

namespace signalbox {
namespace {

constexpr std::array station_statuses = {StationStatus::pending, StationStatus::running,
                                         StationStatus::waiting, StationStatus::succeeded,
                                         StationStatus::failed,  StationStatus::canceled,
                                         StationStatus::timeout};
constexpr std::array run_statuses = {RunStatus::queued, RunStatus::running,  RunStatus::succeeded,
                                     RunStatus::failed, RunStatus::canceled, RunStatus::paused};

// Returns one of each event, valid except for the station's status.
std::vector<Event> station_events(std::uint32_t attempts) {
  const std::string name = "a";
  const Failure failure{Outcome::failed, ErrorClass::transient, "X", ""};
  return {claimed(name, attempts + 1),
          intended(name),
          StationEvent{StationExternalRefSet{name, "ref"}},
          StationEvent{StationHeartbeat{name, 1000, ""}},
          succeeded(name, attempts),
          StationEvent{StationAttemptFailed{name, attempts, failure, {}, 5, Strategy::original}},
          StationEvent{StationFailed{name, attempts, failure, {}}},
          StationEvent{StationTimedOut{name, attempts, failure, {}}},
          StationEvent{StationDeferred{name, attempts, WaitReason::deferred, 5, ""}},
          StationEvent{StationReady{name}},
          StationEvent{StationCanceled{name}},
          StationEvent{CancelConfirmed{name, "job"}},
          StationEvent{CancelEscaped{name, "job", {7}}},
          StationEvent{StationStalled{name, attempts, "digest", 1000, StallAction::nudge}},
          StationEvent{StationProgressed{name, attempts, "digest"}},
          StationEvent{StationUsageReported{name, attempts, {1, 2, 3}}},
          StationEvent{StationHeld{name, WaitReason::budget, "used up"}},
          StationEvent{StationApproved{name, "fine"}},
          StationEvent{StationRejected{name, "not fine"}},
          StationEvent{StationApprovalRequested{name, attempts, "may I?"}},
          StationEvent{StationApprovalGiven{name, attempts, "you may"}},
          StationEvent{StationResultHeld{name, attempts, {}}},
          StationEvent{
              WatchdogTimedOut{name, attempts, 2000, 1000, TimerOrigin::started_at, 5, "ann", ""}}};
}

// Returns a RunRetried of the run that started() starts, after one attempt.
Event retried() {
  RunRetried event;
  event.station = "a";
  event.pipeline_digest = digest_of(0x90);
  event.attempts = {1};
  return RunEvent{event};
}

std::vector<Event> run_events() {
  return {started({"one", {worker_station("a")}}),
          run_succeeded(),
          RunEvent{RunFailed{"a", ErrorClass::terminal, "X", ""}},
          RunEvent{RunCancelRequested{"why", false}},
          RunEvent{RunCanceled{"why"}},
          RunEvent{RunPaused{"why"}},
          RunEvent{RunResumed{"why"}},
          RunEvent{RunBudgetRaised{{1, 2, 3}, "why"}},
          RunEvent{LateUsageReported{"a", 1, {1, 2, 3}}},
          retried()};
}

static_assert(std::variant_size_v<StationEvents> == 23, "station_events() has one of each");
static_assert(std::variant_size_v<RunEvents> == 10, "run_events() has one of each");

class TransitionsTest : public GivenWhenThen {
 protected:
  TransitionsTest() { GTEST_FLAG_SET(death_test_style, "fast"); }

  // Brings a run of one station to this station status. For `waiting` the station is stalled, with
  // an attempt.
  void given_station(StationStatus status) {
    apply_event(started({"one", {worker_station("a")}}));
    if (status == StationStatus::pending) return;
    if (status != StationStatus::canceled) apply_event(claimed("a"));
    const Failure failure{Outcome::failed, ErrorClass::transient, "X", ""};
    switch (status) {
      case StationStatus::pending:
      case StationStatus::running:
        return;
      case StationStatus::waiting:
        return apply_event(
            StationEvent{StationStalled{"a", 1, "digest", 1000, StallAction::nudge}});
      case StationStatus::succeeded:
        return apply_event(succeeded("a"));
      case StationStatus::failed:
        return apply_event(StationEvent{StationFailed{"a", 1, failure, {}}});
      case StationStatus::canceled:
        return apply_event(StationEvent{StationCanceled{"a"}});
      case StationStatus::timeout:
        return apply_event(StationEvent{StationTimedOut{"a", 1, failure, {}}});
    }
  }

  // Brings the station to `waiting` without an attempt: the first attempt failed, the second isn't
  // due.
  void given_backoff() {
    given_station(StationStatus::running);
    const Failure failure{Outcome::failed, ErrorClass::transient, "X", ""};
    apply_event(StationEvent{StationAttemptFailed{"a", 1, failure, {}, 5, Strategy::original}});
  }

  // Returns whether the event suits the station's wait: only what waits for an approval is decided,
  // and it is never ready; an approval station isn't held again.
  [[nodiscard]] bool suits_station(const Event& event) const {
    const bool approval = the_run().definition().executor == ExecutorKind::approval;
    const bool asks = the_run().station().waiting == WaitReason::approval;
    if (event_as<StationApproved>(event) || event_as<StationRejected>(event) ||
        event_as<StationApprovalGiven>(event) || event_as<StationResultHeld>(event)) {
      return asks;
    }
    if (event_as<StationReady>(event)) return !asks;
    return !approval || event_as<StationHeld>(event) == nullptr;
  }

  // Tries each station event in the state that `given` sets up. Expects that evolve() accepts it if
  // the table has the pair and the event suits the presence of an attempt, and aborts otherwise.
  // Returns the names of the accepted events.
  template <class Given>
  std::set<std::string> expect_only_possible_events(const Given& given) {
    std::set<std::string> accepted;
    for (std::size_t index = 0; index < station_events(0).size(); ++index) {
      world = World{};
      given();
      const StationState before = the_run().station();
      const Event event = station_events(before.attempts)[index];
      const std::uint16_t number = tag_of(event).number;
      const auto next = next_status(before.status, number);
      if (next && may_happen(number, the_run().attempt.has_value()) && suits_station(event)) {
        accepted.emplace(tag_of(event).name);
        apply_event(event);
        EXPECT_EQ(the_run().stations[0].status, *next) << shown(before.status) << shown(event);
      } else {
        EXPECT_DEATH(apply_event(event), "not true") << shown(before.status) << shown(event);
      }
    }
    return accepted;
  }

  void given_run(RunStatus status) {
    apply_event(started({"one", {worker_station("a")}}));
    if (status == RunStatus::queued) return;
    apply_event(claimed("a"));
    switch (status) {
      case RunStatus::queued:
      case RunStatus::running:
        return;
      case RunStatus::succeeded:
        apply_event(succeeded("a"));
        return apply_event(run_succeeded());
      case RunStatus::failed:
        apply_event(StationEvent{StationFailed{"a", 1, {}, {}}});
        return apply_event(RunEvent{RunFailed{}});
      case RunStatus::canceled:
        apply_event(StationEvent{StationCanceled{"a"}});
        return apply_event(RunEvent{RunCanceled{}});
      case RunStatus::paused:
        return apply_event(RunEvent{RunPaused{}});
    }
  }

  void apply_event(const Event& event) {
    Record record;
    record.position = world.position + 1;
    record.stream = Stream::run(run);
    record.event = event;
    evolve(world, record);
  }
};

// Expects that the table has the rows `meant` and no others. They are written a second time on
// purpose: a change of a table changes the contract.
template <class Statuses, class Rows>
void expect_table(const Statuses& statuses, const std::vector<Event>& all, const Rows& meant,
                  std::size_t rows) {
  std::size_t pairs = 0;
  for (const auto from : statuses) {
    for (const Event& event : all) {
      const EventTag tag = tag_of(event);
      const auto row = meant.find({from, std::string(tag.name)});
      const auto next = next_status(from, tag.number);
      EXPECT_EQ(next, row == meant.end() ? std::nullopt : std::optional(row->second))
          << shown(from) << " " << tag.name;
      if (!next) continue;
      ++pairs;
      if (event_as<RunRetried>(event) != nullptr)
        continue;  // the only one out of a terminal status
      if (next == from) continue;
      EXPECT_FALSE(is_terminal(from)) << shown(from) << " is left by " << tag.name;
    }
  }
  EXPECT_EQ(pairs, rows) << "a row is there twice, or unknown to this test";
}

TEST_F(TransitionsTest, TheStationTableSaysWhatIsMeant) {
  using enum StationStatus;
  const std::map<std::pair<StationStatus, std::string>, StationStatus> meant = {
      {{pending, "StationClaimed"}, running},
      {{pending, "StationCanceled"}, canceled},
      {{running, "StationSubmitIntended"}, running},
      {{running, "StationExternalRefSet"}, running},
      {{running, "StationHeartbeat"}, running},
      {{running, "CancelConfirmed"}, running},
      {{running, "CancelEscaped"}, running},
      {{running, "StationSucceeded"}, succeeded},
      {{running, "StationAttemptFailed"}, waiting},
      {{running, "StationDeferred"}, waiting},
      {{running, "StationFailed"}, failed},
      {{running, "StationTimedOut"}, timeout},
      {{running, "StationCanceled"}, canceled},
      {{waiting, "StationReady"}, pending},
      {{waiting, "StationCanceled"}, canceled},
      {{running, "StationStalled"}, waiting},
      {{running, "WatchdogTimedOut"}, running},
      {{waiting, "WatchdogTimedOut"}, waiting},
      {{waiting, "StationStalled"}, waiting},
      {{waiting, "StationProgressed"}, running},
      {{waiting, "StationExternalRefSet"}, waiting},
      {{waiting, "StationHeartbeat"}, waiting},
      {{waiting, "CancelConfirmed"}, waiting},
      {{waiting, "CancelEscaped"}, waiting},
      {{waiting, "StationSucceeded"}, succeeded},
      {{waiting, "StationAttemptFailed"}, waiting},
      {{waiting, "StationDeferred"}, waiting},
      {{waiting, "StationFailed"}, failed},
      {{waiting, "StationTimedOut"}, timeout},
      {{running, "StationApprovalRequested"}, waiting},
      {{waiting, "StationApprovalRequested"}, waiting},
      {{waiting, "StationApprovalGiven"}, running},
      {{waiting, "StationResultHeld"}, waiting},
      {{running, "StationUsageReported"}, running},
      {{waiting, "StationUsageReported"}, waiting},
      {{pending, "StationHeld"}, waiting},
      {{waiting, "StationHeld"}, waiting},
      {{waiting, "StationApproved"}, succeeded},
      {{waiting, "StationRejected"}, failed},
      {{failed, "RunRetried"}, pending},
      {{timeout, "RunRetried"}, pending}};
  std::vector<Event> all = station_events(0);
  for (const Event& event : run_events()) all.push_back(event);
  expect_table(station_statuses, all, meant, station_transitions.size());
}

TEST_F(TransitionsTest, TheRunTableSaysWhatIsMeant) {
  using enum RunStatus;
  const std::map<std::pair<RunStatus, std::string>, RunStatus> meant = {
      {{queued, "StationClaimed"}, running},
      {{queued, "RunCanceled"}, canceled},
      {{running, "StationClaimed"}, running},
      {{running, "RunSucceeded"}, succeeded},
      {{running, "RunFailed"}, failed},
      {{running, "RunCancelRequested"}, running},
      {{running, "RunCanceled"}, canceled},
      {{queued, "RunPaused"}, paused},
      {{running, "RunPaused"}, paused},
      {{paused, "RunResumed"}, running},
      {{paused, "RunSucceeded"}, succeeded},
      {{paused, "RunFailed"}, failed},
      {{paused, "RunCancelRequested"}, paused},
      {{paused, "RunCanceled"}, canceled},
      {{queued, "StationApproved"}, running},
      {{queued, "StationRejected"}, running},
      {{queued, "RunBudgetRaised"}, queued},
      {{running, "RunBudgetRaised"}, running},
      {{paused, "RunBudgetRaised"}, paused},
      {{failed, "RunRetried"}, running},
      {{running, "LateUsageReported"}, running},
      {{paused, "LateUsageReported"}, paused},
      {{succeeded, "LateUsageReported"}, succeeded},
      {{failed, "LateUsageReported"}, failed},
      {{canceled, "LateUsageReported"}, canceled}};
  std::vector<Event> all = run_events();
  for (const Event& event : station_events(0)) all.push_back(event);
  expect_table(run_statuses, all, meant, run_transitions.size());
}

TEST_F(TransitionsTest, EvolveFollowsTheStationTableAndAbortsOnEveryOtherPair) {
  for (const StationStatus from : station_statuses) {
    if (from == StationStatus::waiting) continue;  // two cases, each with a test of its own
    const auto accepted = expect_only_possible_events([&] {
      given_station(from);
      ASSERT_EQ(the_run().station().status, from);
    });
    std::set<std::string> rows;
    for (const StationTransition& row : station_transitions) {
      if (row.on.number == RunRetried::tag.number) continue;  // only for a run that has ended
      if (row.from == from) rows.emplace(row.on.name);
    }
    EXPECT_EQ(accepted, rows) << shown(from);
  }
}

TEST_F(TransitionsTest, BetweenAttemptsNothingHappensToAnAttempt) {
  EXPECT_EQ(expect_only_possible_events([this] { given_backoff(); }),
            (std::set<std::string>{"StationReady", "StationCanceled", "StationHeld"}));
}

// A station that waits for a decision is neither claimed nor ready, and only such a station is
// decided.
TEST_F(TransitionsTest, AnApprovalIsDecidedOrCanceled) {
  EXPECT_EQ(
      expect_only_possible_events([this] {
        StationDefinition ask = worker_station("a");
        ask.executor = ExecutorKind::approval;
        given({started({"one", {ask}}), StationEvent{StationHeld{"a", WaitReason::approval, ""}}});
      }),
      (std::set<std::string>{"StationApproved", "StationRejected", "StationCanceled"}));
}

TEST_F(TransitionsTest, AStalledAttemptIsNotReadyForAnother) {
  EXPECT_EQ(
      expect_only_possible_events([this] { given_station(StationStatus::waiting); }),
      (std::set<std::string>{"StationApprovalRequested", "StationProgressed", "StationStalled",
                             "StationExternalRefSet", "StationHeartbeat", "CancelConfirmed",
                             "CancelEscaped", "WatchdogTimedOut", "StationUsageReported",
                             "StationSucceeded", "StationAttemptFailed", "StationDeferred",
                             "StationFailed", "StationTimedOut", "StationCanceled"}));
}

TEST_F(TransitionsTest, AnAttemptThatAsksIsApprovedOrEndsWithItsResultHeld) {  // G10
  EXPECT_EQ(expect_only_possible_events([this] {
              given_station(StationStatus::running);
              apply_event(StationEvent{StationApprovalRequested{"a", 1, "may I?"}});
            }),
            (std::set<std::string>{"StationApprovalRequested", "StationApprovalGiven",
                                   "StationResultHeld", "StationProgressed", "StationStalled",
                                   "StationExternalRefSet", "StationHeartbeat", "CancelConfirmed",
                                   "CancelEscaped", "WatchdogTimedOut", "StationUsageReported",
                                   "StationSucceeded", "StationAttemptFailed", "StationDeferred",
                                   "StationFailed", "StationTimedOut", "StationCanceled"}));
  EXPECT_EQ(expect_only_possible_events([this] {
              given_station(StationStatus::running);
              apply_event(StationEvent{StationApprovalRequested{"a", 1, "may I?"}});
              apply_event(StationEvent{StationResultHeld{"a", 1, {}}});
            }),
            (std::set<std::string>{"StationApproved", "StationRejected", "StationCanceled",
                                   "StationHeld"}));
}

TEST_F(TransitionsTest, AWaitWithoutAnAttemptIsNeverAStall) {
  given_station(StationStatus::running);
  EXPECT_DEATH(apply_event(StationEvent{StationDeferred{"a", 1, WaitReason::stalled, 5, ""}}),
               "not true");
}

TEST_F(TransitionsTest, EvolveFollowsTheRunTableAndAbortsOnEveryOtherPair) {
  for (const RunStatus from : run_statuses) {
    for (const Event& event : run_events()) {
      world = World{};
      given_run(from);
      // An ended run has left the world; a RunStarted would be a second run with its id.
      const auto next = next_status(from, tag_of(event).number);
      if (!next && is_terminal(from) && event_as<RunStarted>(event) != nullptr) continue;
      if (!next) {
        EXPECT_DEATH(apply_event(event), "not true") << shown(from) << shown(event);
        continue;
      }
      if (is_terminal(*next) && !is_terminal(from) && from != RunStatus::queued) {
        apply_event(StationEvent{StationCanceled{"a"}});  // an attempt ends before its run
      }
      apply_event(event);
      if (is_terminal(*next)) {
        EXPECT_EQ(world.find_run(run), nullptr);
        ASSERT_NE(world.ended_runs.find(run), nullptr);
        EXPECT_EQ(world.ended_runs.find(run)->status, *next);
      } else {
        EXPECT_EQ(the_run().status, *next);
      }
    }
  }
}

TEST_F(TransitionsTest, ARecordOutOfPlaceIsABug) {
  given_run(RunStatus::queued);
  Record record;
  record.stream = Stream::run(run);
  record.event = claimed("a");
  record.position = world.position;
  EXPECT_DEATH(evolve(world, record), "not true");
  record.position = world.position + 2;
  EXPECT_DEATH(evolve(world, record), "not true");
}

}  // namespace
}  // namespace signalbox
