// The transition tables of ticks and locks, pair by pair: that they are the expected ones, and that
// evolve() follows them.
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "domain/evolve.h"
#include "tests/domain/given_when_then.h"

namespace signalbox {
namespace {

constexpr std::array tick_statuses = {TickStatus::idle, TickStatus::running, TickStatus::timed_out,
                                      TickStatus::halted};

std::vector<Event> tick_events() {
  TickIncompleteDetected incomplete;
  incomplete.loop = "nightly";
  return {TickEvent{TickStarted{"nightly", "plan", "cron", 1000, {}, "/root", 0, 0, {}}},
          TickEvent{TickSucceeded{"nightly", 0, ""}},
          TickEvent{TickFailed{"nightly", 0, "X", "", ""}},
          TickEvent{TickSkipped{"nightly", "", "", 0}},
          TickEvent{incomplete},
          TickEvent{TickRecovered{"nightly", 0, "", ""}},
          TickEvent{TickTimedOut{"nightly", 0, "", 1, 1, 1, {}, ""}},
          TickEvent{TickMissed{"nightly", "server down", 2, 1, 2}}};
}
static_assert(std::variant_size_v<TickEvents> == 8, "tick_events() has one of each");

std::vector<Event> lock_events() {
  return {LockEvent{LockAcquired{"deploy", "ann", 1000, "", ""}},
          LockEvent{LockRefreshed{"deploy", "ann", 1, 1000}},
          LockEvent{LockReleased{"deploy", "ann", 1, ""}},
          LockEvent{LockExpired{"deploy", "ann", 1, ""}},
          LockEvent{LockRefreshFailed{"deploy", "bob", 9, "ann", 1}},
          LockEvent{LockFileReplaced{"deploy", "/root/.lock", "empty", {}}}};
}
static_assert(std::variant_size_v<LockEvents> == 6, "lock_events() has one of each");

// The expected table is written a second time on purpose: a change of a table changes the contract.
TEST(TickTransitions, TheTableSaysWhatIsMeant) {
  using enum TickStatus;
  const std::map<std::pair<TickStatus, std::string>, TickStatus> meant = {
      {{idle, "TickStarted"}, running},       {{idle, "TickSkipped"}, idle},
      {{idle, "TickMissed"}, idle},           {{idle, "TickIncompleteDetected"}, halted},
      {{running, "TickSucceeded"}, idle},     {{running, "TickFailed"}, idle},
      {{running, "TickSkipped"}, running},    {{running, "TickMissed"}, running},
      {{running, "TickTimedOut"}, timed_out}, {{running, "TickIncompleteDetected"}, halted},
      {{running, "TickRecovered"}, idle},     {{timed_out, "TickIncompleteDetected"}, halted},
      {{timed_out, "TickMissed"}, timed_out}, {{timed_out, "TickRecovered"}, idle},
      {{halted, "TickRecovered"}, idle}};
  for (const TickStatus from : tick_statuses) {
    for (const Event& event : tick_events()) {
      const EventTag tag = tag_of(event);
      const auto row = meant.find({from, std::string(tag.name)});
      EXPECT_EQ(next_status(from, tag.number),
                row == meant.end() ? std::nullopt : std::optional(row->second))
          << shown(from) << " " << tag.name;
    }
  }
  EXPECT_EQ(meant.size(), tick_transitions.size());
}

TEST(LockTransitions, TheTableSaysWhatIsMeant) {
  using enum LockStatus;
  const std::map<std::pair<LockStatus, std::string>, LockStatus> meant = {
      {{free, "LockFileReplaced"}, free},  {{free, "LockRefreshFailed"}, free},
      {{free, "LockAcquired"}, held},      {{held, "LockRefreshed"}, held},
      {{held, "LockRefreshFailed"}, held}, {{held, "LockReleased"}, free},
      {{held, "LockExpired"}, free}};
  for (const LockStatus from : {free, held}) {
    for (const Event& event : lock_events()) {
      const EventTag tag = tag_of(event);
      const auto row = meant.find({from, std::string(tag.name)});
      EXPECT_EQ(next_status(from, tag.number),
                row == meant.end() ? std::nullopt : std::optional(row->second))
          << shown(from) << " " << tag.name;
    }
  }
  EXPECT_EQ(meant.size(), lock_transitions.size());
}

class EvolveAborts : public GivenWhenThen {
 protected:
  EvolveAborts() { GTEST_FLAG_SET(death_test_style, "fast"); }

  void apply_to(Stream stream, const Event& event) {
    Record record;
    record.position = world.position + 1;
    record.stream = std::move(stream);
    record.event = event;
    evolve(world, record);
  }
};

TEST_F(EvolveAborts, OnEveryPairThatNoTickTableHas) {
  for (const TickStatus from : tick_statuses) {
    for (const Event& event : tick_events()) {
      if (next_status(from, tag_of(event).number)) continue;
      world = World{};
      const Stream stream = Stream::tick("nightly");
      if (from != TickStatus::idle) apply_to(stream, tick_events().front());
      if (from == TickStatus::timed_out) {
        apply_to(stream, TickEvent{TickTimedOut{"nightly", 1, "", 1, 1, 1, {}, ""}});
      }
      if (from == TickStatus::halted) {
        TickIncompleteDetected incomplete;
        incomplete.loop = "nightly";
        incomplete.token = 1;
        apply_to(stream, TickEvent{incomplete});
      }
      EXPECT_DEATH(apply_to(stream, event), "not true") << shown(from) << shown(event);
    }
  }
}

TEST_F(EvolveAborts, OnEveryPairThatNoLockTableHas) {
  for (const LockStatus from : {LockStatus::free, LockStatus::held}) {
    for (const Event& event : lock_events()) {
      if (next_status(from, tag_of(event).number)) continue;
      world = World{};
      const Stream stream = Stream::lock("deploy");
      if (from == LockStatus::held) apply_to(stream, lock_events().front());
      EXPECT_DEATH(apply_to(stream, event), "not true") << shown(from) << shown(event);
    }
  }
}

}  // namespace
}  // namespace signalbox
