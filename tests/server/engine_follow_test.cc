// The engine of a server that follows a log which another one writes, and takes it over.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "projections/world_digest.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

// The site's engine writes; this one follows.
class EngineFollow : public testing::Test, protected RpcSite {
 protected:
  EngineFollow() { follower_.close({ErrorCode::NOT_ACTIVE, "another one writes", {}, {}}); }

  static Decided<std::size_t> start_run(Engine& engine, const std::string& goal, const RunId& id) {
    StartRun command;
    command.goal = goal;
    command.pipeline = default_pipeline();
    command.run_id = id;
    return engine.begin({"uid:1", {}, {}}).apply(command);
  }
  // Gives the follower what the log has and it hasn't.
  void follow() {
    while (follower_.world().position < log.tail()) {
      CommitOutcome outcome;
      outcome.batch.push_back(*log.read_commit(follower_.world().position + 1));
      outcome.result = {AppendStatus::ok, outcome.batch.back().back().position, {}};
      follower_.follow(std::move(outcome));
    }
  }

  std::vector<std::string> told_;
  Engine follower_{{},
                   clock,
                   {[this](std::span<const Record>) { told_.emplace_back("applied"); },
                    [this](const CommitOutcome& outcome) {
                      told_.push_back("durable " + std::to_string(outcome.result.tail));
                    },
                    [this](const std::string&) { told_.emplace_back("fatal"); }, nullptr,
                    [this](const std::string& why) { told_.push_back("deposed: " + why); }}};
};

TEST_F(EngineFollow, HasTheSameStateAndTakesNoCommand) {  // K6
  ASSERT_TRUE(start_run(engine, "one", ids.next_run_id(0)));
  commit_all();
  ASSERT_TRUE(start_run(engine, "two", ids.next_run_id(0)));
  commit_all();
  follow();
  EXPECT_EQ(world_digest(follower_.world()), world_digest(engine.world()));
  EXPECT_EQ(follower_.durable_position(), log.tail());
  EXPECT_EQ(told_, (std::vector<std::string>{"applied", "durable 1", "applied", "durable 2"}));
  const auto refused = start_run(follower_, "three", ids.next_run_id(0));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::NOT_ACTIVE);
  EXPECT_EQ(follower_.world().position, log.tail());
}

TEST_F(EngineFollow, RecordsNothingAsEarlierThanTheWriterBefore) {
  ASSERT_TRUE(start_run(engine, "one", ids.next_run_id(0)));
  commit_all();
  follow();
  const std::int64_t before_ns = log.read(1, 1)->front().recorded_at_ns;
  clock.now_ns -= 5'000'000'000;  // the follower's clock is behind
  follower_.lead(before_ns);
  auto transaction = follower_.begin({"uid:1", {}, {}});
  StartRun command;
  command.goal = "two";
  command.pipeline = default_pipeline();
  command.run_id = ids.next_run_id(0);
  ASSERT_TRUE(transaction.apply(command));
  EXPECT_EQ(transaction.records().front().recorded_at_ns, before_ns);
}

TEST_F(EngineFollow, ShowsOfWhichMomentItIs) {
  EXPECT_FALSE(follower_.as_of_ns());
  follower_.show_as_of(7);
  EXPECT_EQ(follower_.as_of_ns(), 7);
  follower_.lead(0);
  EXPECT_FALSE(follower_.as_of_ns());
}

TEST_F(EngineFollow, TakesNothingWhileTheLogIsAway) {
  follower_.lead(0);
  EXPECT_FALSE(follower_.holds_deadlines());
  follower_.hold({ErrorCode::STORAGE_AWAY, "it is away", {}, {}});
  EXPECT_TRUE(follower_.holds_deadlines());
  const auto refused = start_run(follower_, "one", ids.next_run_id(0));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::STORAGE_AWAY);
  follower_.go_on();
  EXPECT_FALSE(follower_.holds_deadlines());
  EXPECT_TRUE(start_run(follower_, "one", ids.next_run_id(0)));
}

TEST_F(EngineFollow, IsToldThatAnotherOneWrites) {  // K3
  follower_.lead(0);
  follower_.set_committer(committer);
  ASSERT_TRUE(start_run(follower_, "one", ids.next_run_id(0)));
  std::string answer;
  follower_.release_when_durable([&](Durability durability) {
    answer = durability == Durability::unknown ? "unknown" : "something else";
  });
  follower_.flush();
  CommitOutcome outcome;
  outcome.result = {AppendStatus::conflict, 0, "another server has taken the cell"};
  follower_.on_committed(std::move(outcome));
  EXPECT_EQ(answer, "unknown");
  EXPECT_EQ(told_.back(), "deposed: another server has taken the cell");
}

}  // namespace
}  // namespace signalbox
