// What keeps a retention from dropping anything is asked for when it begins, and again before the
// drop, which no server can take back. What fails after the drop is repeated.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>

#include "projections/memory_table.h"
#include "projections/retention_plan.h"
#include "server/scheduler/retention_loop.h"
#include "store/merkle_tree.h"
#include "store/sha256.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

class RetentionObstacleTest : public testing::Test, protected RpcSite {
 protected:
  RetentionObstacleTest() {
    end_a_run();
    clock.advance_ms(5'000);
  }

  void end_a_run() {
    const std::string run_id = start_run(R"({"goal":"old"})");
    (void)ask("run.cancel", R"({"run_id":")" + run_id + R"("})");
  }

  void note_clock_jump(std::int64_t ms) {
    (void)engine.begin(by_the_service).apply(NoteClockJump{ms, 0, "wall clock set"});
    commit_all();
  }

  // As the program stages it, without an archive.
  StagedRetention stage(const DroppableLog& read, std::int64_t now_ns) {
    ++staged_;
    StagedRetention staged;
    MemoryTable scratch;
    auto plan = plan_retention(read, now_ns - 1'000'000'000, scratch,
                               std::numeric_limits<std::int64_t>::max(), now_ns);
    EXPECT_TRUE(plan && !plan->drops_nothing());
    HistoryDropped event;
    event.horizon = staged.outcome.horizon = plan->horizon;
    event.from = plan->from;
    event.records = plan->records_dropped;
    event.records_kept = plan->records_kept;
    event.base = sha256(plan->drop.base);
    staged.drop = read.stage_drop(std::move(plan->drop), nullptr).value();
    Sha256 hashing;
    event.root = merkle_root(staged.drop.frontier, hashing);
    staged.event = event;
    return staged;
  }
  void trigger() {
    retention_.loops()[0]->trigger("the test wants it");
    for (int round = 0; round < 5; ++round) commit_all();
  }

  RewritingTurn turn_;
  int staged_ = 0;
  int asked_ = 0;
  int rows_renewed_ = 0;
  bool rows_fail_ = false;
  bool awaited_ = false;     // it is settled by waiting for the facts
  int obstructed_from_ = 0;  // the question from which on there is an obstacle; 0: none
  RetentionLoop retention_{
      RetentionLoop::Parts{
          engine, clock, log, turn_, artifacts_place.path(), BlockingPool(at_once, at_once),
          [this](const DroppableLog& read, const std::filesystem::path&, const RetentionSettings&,
                 std::int64_t now_ns, const std::atomic<bool>&) { return stage(read, now_ns); },
          at_once, [](Position) { return true; },
          [this](const std::atomic<bool>&) -> Stored<void> {
            ++rows_renewed_;
            if (rows_fail_) return store_failure(StoreError::Kind::full, "no room for rows");
            return {};
          },
          [](const RetentionOutcome&) {},
          [this]() -> std::optional<RetentionObstacle> {
            if (++asked_ < obstructed_from_ || obstructed_from_ == 0) return std::nullopt;
            return RetentionObstacle{"another version came", {"signalbox cell status"}};
          },
          [this](const std::atomic<bool>&) {
            if (awaited_) obstructed_from_ = 0;
          }},
      RetentionSettings{1'000, 1'000, artifacts_place.path() / "archive",
                        artifacts_place.path() / "no.key", Schedule::parse("0 0 29 2 *").value()}};
};

TEST_F(RetentionObstacleTest, IsLookedForAgainBeforeTheDrop) {  // K7
  obstructed_from_ = 2;
  trigger();
  EXPECT_EQ(staged_, 1);
  EXPECT_EQ(log.horizon().position, 0U);
  ASSERT_TRUE(retention_.latest());
  EXPECT_EQ(retention_.latest()->error, "another version came");
  EXPECT_EQ(retention_.latest()->next_commands.front(), "signalbox cell status");
  EXPECT_TRUE(turn_.take()) << "it was given back";
  turn_.give_back();
  obstructed_from_ = 0;
  trigger();
  EXPECT_GT(log.horizon().position, 0U);
}

TEST_F(RetentionObstacleTest, KeepsItFromBeginning) {  // K7
  obstructed_from_ = 1;
  trigger();
  EXPECT_EQ(staged_, 0);
  EXPECT_EQ(log.horizon().position, 0U);
}

// Its next due time may be a day away.
TEST_F(RetentionObstacleTest, IsAskedForOnceTheFactsAreKnown) {  // K7
  obstructed_from_ = 1;
  awaited_ = true;
  trigger();
  EXPECT_EQ(staged_, 1);
  EXPECT_GT(log.horizon().position, 0U);
}

TEST_F(RetentionObstacleTest, WhatFailsAfterTheDropIsRepeatedByTheNextTick) {  // K7
  rows_fail_ = true;
  trigger();
  const Position dropped = log.horizon().position;
  ASSERT_GT(dropped, 0U);
  ASSERT_TRUE(retention_.latest());
  EXPECT_NE(retention_.latest()->error.find("the records are dropped, but"), std::string::npos);
  EXPECT_NE(retention_.latest()->error.find("no room for rows"), std::string::npos);
  trigger();
  EXPECT_EQ(rows_renewed_, 2) << "although nothing is old";
  EXPECT_EQ(staged_, 1);
  EXPECT_TRUE(retention_.latest()->failed());
  rows_fail_ = false;
  trigger();
  EXPECT_EQ(rows_renewed_, 3);
  EXPECT_EQ(retention_.latest()->error, "");
  EXPECT_EQ(retention_.latest()->horizon, dropped);
  EXPECT_TRUE(turn_.take()) << "it was given back";
  turn_.give_back();
  trigger();
  EXPECT_EQ(rows_renewed_, 3) << "nothing is left to finish";
}

// The clock was a year ahead for a while: the age of what was written then isn't known.
TEST_F(RetentionObstacleTest, RecordsOfAClockThatWasAheadAreNone) {  // K7
  constexpr std::int64_t year_ns = 365LL * 86'400 * 1'000'000'000;
  trigger();
  const Position dropped = log.horizon().position;
  ASSERT_GT(dropped, 0U);
  clock.set_by_ns = year_ns;
  end_a_run();
  clock.set_by_ns = 0;
  end_a_run();
  const Position ended = log.tail();
  clock.advance_ms(5'000);
  trigger();
  EXPECT_GE(log.horizon().position, ended);
}

// By a clock that is a year ahead everything is old.
TEST_F(RetentionObstacleTest, AClockThatWentFarAheadIsOneForADay) {  // K7
  constexpr std::int64_t day_ms = 86'400'000;
  constexpr std::int64_t year_ns = 365 * day_ms * 1'000'000;
  clock.set_by_ns = year_ns;
  note_clock_jump(year_ns / 1'000'000);
  trigger();
  EXPECT_EQ(log.horizon().position, 0U);
  ASSERT_TRUE(retention_.latest());
  EXPECT_NE(retention_.latest()->error.find("the clock went ahead by 365 days at 2024-11-13T"),
            std::string::npos)
      << retention_.latest()->error;
  EXPECT_EQ(retention_.latest()->next_commands, std::vector<std::string>{"timedatectl"});
  clock.advance_ms(day_ms - 60'000);
  trigger();
  EXPECT_EQ(log.horizon().position, 0U);
  // It was right, or nobody has set it.
  clock.advance_ms(120'000);
  trigger();
  EXPECT_GT(log.horizon().position, 0U);
  EXPECT_EQ(retention_.latest()->error, "");
}

// What was recorded meanwhile is of a time to come.
TEST_F(RetentionObstacleTest, AClockThatWasSetRightAgainIsNone) {  // K7
  constexpr std::int64_t year_ms = 365LL * 86'400'000;
  clock.set_by_ns = year_ms * 1'000'000;
  note_clock_jump(year_ms);
  end_a_run();
  clock.set_by_ns = 0;
  note_clock_jump(-year_ms);
  trigger();
  EXPECT_GT(log.horizon().position, 0U);
}

}  // namespace
}  // namespace signalbox
