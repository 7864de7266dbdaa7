// Verified cards: how they are merged, deferred, and blocked by their merge.
#include <gtest/gtest.h>

#include "domain/limits.h"
#include "tests/domain/card_fixture.h"

namespace signalbox {
namespace {

TEST_F(VerifiedCardTest, IsMergedByARunOfItsOwnAndLeavesTheBoard) {  // H11
  when(merge_of(card, run));
  then_names({"CardMergeStarted", "RunStarted"});
  EXPECT_EQ(status(), CardStatus::verified);
  EXPECT_EQ(next_to_merge(world, project, now.wall_ns), nullptr) << "never the same card twice";
  finish_merge(Outcome::succeeded);
  then_names({"StationSucceeded", "RunSucceeded", "CardMerged"});
  EXPECT_EQ(world.board.find(card), nullptr);
  EXPECT_EQ(world.worktrees.size(), 2U) << "of its run and of the merge, until they are removed";
}

TEST_F(VerifiedCardTest, IsMergedLaterWhereTheBaseMoved) {  // H11
  when(merge_of(card, run));
  finish_merge(Outcome::failed, "BASE_MOVED");
  then_names({"StationFailed", "RunFailed", "CardMergeDeferred"});
  EXPECT_EQ(status(), CardStatus::verified);
  EXPECT_EQ(next_to_merge(world, project, now.wall_ns), &the_card());
}

TEST_F(VerifiedCardTest, IsBlockedByAConflict) {  // H11
  when(merge_of(card, run));
  finish_merge(Outcome::failed, "MERGE_CONFLICT");
  then_names({"StationFailed", "RunFailed", "CardBlocked"});
  EXPECT_EQ(status(), CardStatus::blocked);
  EXPECT_EQ(the_card().code, "MERGE_CONFLICT");
}

TEST_F(VerifiedCardTest, IsRetriedAfterAConflictAsAfterAnyFailure) {  // H5, H11
  when(merge_of(card, run));
  finish_merge(Outcome::failed, "MERGE_CONFLICT");
  EXPECT_EQ(the_card().retry_at_ns, now.wall_ns + 30 * minute_ns);
  now.wall_ns += 30 * minute_ns - 1;
  when(RetryBlockedCards{});
  then_nothing();
  now.wall_ns += 1;
  when(RetryBlockedCards{});
  then_names({"CardUnblocked"});
  EXPECT_EQ(status(), CardStatus::backlog);
}

class CardOfAMergeThatFailed : public VerifiedCardTest,
                               public ::testing::WithParamInterface<ErrorClass> {};

// Nothing is wrong with the card, so that it needs no other run.
TEST_P(CardOfAMergeThatFailed, IsMergedLater) {  // H11
  when(merge_of(card, run));
  for (int attempt = 0; attempt < 10 && world.find_run(run) != nullptr; ++attempt) {
    finish_merge(Outcome::failed, "NO_NETWORK", GetParam());
    when(WakeStation{run});
  }
  EXPECT_EQ(world.find_run(run), nullptr);
  EXPECT_EQ(status(), CardStatus::verified);
  EXPECT_EQ(the_card().code, "NO_NETWORK");
  EXPECT_EQ(next_to_merge(world, project, now.wall_ns), &the_card());
}

INSTANTIATE_TEST_SUITE_P(Outside, CardOfAMergeThatFailed,
                         ::testing::Values(ErrorClass::transient, ErrorClass::lost,
                                           ErrorClass::quota));

TEST_F(VerifiedCardTest, IsBlockedWhenItsMergeIsCanceled) {  // H11
  when(merge_of(card, run));
  when(CancelRun{run, {}});
  then_names({"StationCanceled", "RunCanceled", "CardBlocked"});
  EXPECT_EQ(the_card().code, "CANCELED");
  EXPECT_EQ(the_card().message, "its run was canceled");
  EXPECT_EQ(the_card().retry_at_ns, 0);
}

TEST_F(VerifiedCardTest, IsNotBlockedWhileItIsMerged) {  // H11
  when(merge_of(card, run));
  when(BlockCard{card, "stop"});
  then_rejected(ErrorCode::CARD_BUSY);
  EXPECT_EQ(rejection->next_commands.front(), "signalbox run cancel " + to_string(run));
}

TEST_F(VerifiedCardTest, IsNotMergedWhereThePolicyForbidsIt) {  // H3, H11
  const MergeCard merge = merge_of(card, run);
  Policy policy;
  policy.merge_verified = false;
  when(AdoptPolicy{project, digest_of(1), policy});
  EXPECT_EQ(next_to_merge(world, project, now.wall_ns), nullptr);
  when(merge);
  then_rejected(ErrorCode::CARD_BUSY);
}

TEST_F(VerifiedCardTest, IsNotMergedWithoutAPolicyThatWasUnderstood) {  // A8
  when(RefusePolicy{project, digest_of(1), 3, "no such key"});
  EXPECT_EQ(next_to_merge(world, project, now.wall_ns), nullptr);
  when(merge_of(card, run));
  then_rejected(ErrorCode::CARD_BUSY);
  when(AdoptPolicy{project, digest_of(2), {}});
  EXPECT_EQ(next_to_merge(world, project, now.wall_ns), &the_card());
  when(AdoptPolicy{project, {}, {}});
  EXPECT_EQ(next_to_merge(world, project, now.wall_ns), nullptr) << "its file is gone";
}

// A conflict's retry is a whole run of the agent.
TEST_F(VerifiedCardTest, HasFailedWhenTheMergeOfItsLastRunConflicts) {  // A9
  Policy policy;
  policy.max_attempts = 1;
  when(AdoptPolicy{project, digest_of(1), policy});
  when(merge_of(card, run));
  finish_merge(Outcome::failed, "MERGE_CONFLICT");
  then_names({"StationFailed", "RunFailed", "CardFailed"});
  EXPECT_EQ(status(), CardStatus::failed);
  EXPECT_EQ(the_card().code, "MERGE_CONFLICT");
  EXPECT_FALSE(the_card().is_merging());
  now.wall_ns += 24 * 60 * minute_ns;
  when(RetryBlockedCards{});
  then_nothing();
  EXPECT_EQ(next_to_merge(world, project, now.wall_ns), nullptr);
  when(UnblockCard{card, {}});
  EXPECT_EQ(next_to_start(world), &the_card()) << "a person decides otherwise";
}

// The merges of a card whose repository doesn't come back.
class CardOfADeferredMerge : public VerifiedCardTest {
 protected:
  void merge_in_vain(const std::string& code, ErrorClass error_class = ErrorClass::terminal) {
    run = uuid_of(++merges_);
    when(merge_of(card, run));
    then_names({"CardMergeStarted", "RunStarted"});
    finish_merge(Outcome::failed, code, error_class);
    then_names({"StationFailed", "RunFailed", "CardMergeDeferred"});
    EXPECT_EQ(status(), CardStatus::verified);
  }
  void merge_until_it_waits(const std::string& code = "BASE_MOVED") {
    for (std::uint32_t merge = 1; merge <= limits::card_merges_max; ++merge) merge_in_vain(code);
  }
  // Begins a merge whose checks fail for what may pass.
  void check_in_vain(const std::string& code) {
    run = uuid_of(++merges_);
    MergeCard merge = merge_of(card, run);
    StationDefinition checks;
    checks.name = "verify";
    checks.executor = ExecutorKind::checks;
    checks.checks.emplace();
    checks.retry.max_retries = 0;
    merge.run.pipeline_digest = digest_of(0x18);
    auto& stations = merge.run.pipeline->stations;
    stations.insert(stations.begin() + 1, checks);
    when(merge);
    execute("merge", Outcome::succeeded);
    execute("verify", Outcome::failed, code, ErrorClass::transient);
  }
  [[nodiscard]] const Card* next() const { return next_to_merge(world, project, now.wall_ns); }

 private:
  std::uint8_t merges_ = 0x20;
};

// Its work is verified, and no run of an agent would change that it can't be merged now.
TEST_F(CardOfADeferredMerge, IsNeverWorkedOnAgain) {  // A9
  Policy policy;
  policy.max_attempts = 1;
  when(AdoptPolicy{project, digest_of(1), policy});
  for (const std::string code : {"BASE_MOVED", "BASE_CHECKED_OUT", "COMMIT_FAILED"}) {
    for (int merge = 0; merge < 20; ++merge) {
      now.wall_ns += 30 * minute_ns;
      merge_in_vain(code);
      EXPECT_EQ(next_to_start(world), nullptr);
    }
  }
  EXPECT_EQ(the_card().runs, 1U);
  now.wall_ns += 30 * minute_ns;
  run = uuid_of(9);
  when(merge_of(card, run));
  finish_merge(Outcome::succeeded);
  EXPECT_EQ(world.board.find(card), nullptr) << "the repository is back";
}

// The agent can't configure the repository; it can only make a commit again that is gone.
TEST_F(CardOfADeferredMerge, IsNotWorkedOnAgainForWhatIsNotConfigured) {  // A9
  for (const std::string code :
       {"BASE_NOT_FOUND", "BASE_NOT_BRANCH", "REPOSITORY_INVALID", "CHECKS_MISSING"}) {
    SCOPED_TRACE(code);
    merge_in_vain(code, ErrorClass::config);
  }
  run = uuid_of(9);
  when(merge_of(card, run));
  finish_merge(Outcome::failed, "COMMIT_NOT_FOUND", ErrorClass::config);
  then_names({"StationFailed", "RunFailed", "CardBlocked"});
}

// What is merged may make a check's program disappear, which no further merge of the same changes.
TEST_F(CardOfADeferredMerge, IsWorkedOnAgainForAConfigurationThatItsWorkMayHaveBroken) {  // A9
  when(merge_of(card, run));
  finish_merge(Outcome::failed, "CHECK_NOT_RUNNABLE", ErrorClass::config);
  then_names({"StationFailed", "RunFailed", "CardBlocked"});
  EXPECT_EQ(the_card().code, "CHECK_NOT_RUNNABLE");
  EXPECT_EQ(the_card().retry_at_ns, now.wall_ns + 30 * minute_ns);
  now.wall_ns += 30 * minute_ns;
  when(RetryBlockedCards{});
  EXPECT_EQ(next_to_start(world), &the_card());
}

// The worktree is that of the merge, which nobody has to look at: the card's own is long gone.
TEST_F(CardOfADeferredMerge, IsWorkedOnAgainWhereItsMergeWasTamperedWith) {  // A9
  when(merge_of(card, run));
  finish_merge(Outcome::failed, "WORKSPACE_TAMPERED", ErrorClass::config);
  then_names({"StationFailed", "RunFailed", "CardBlocked"});
  EXPECT_EQ(the_card().retry_at_ns, now.wall_ns + 30 * minute_ns);
}

// A check that takes too long is taken for a busy machine, and yet the work may be the reason.
TEST_F(CardOfADeferredMerge, IsBlockedOnceTheChecksOfItsMergeHaveFailedForLong) {  // A9
  for (std::uint32_t merge = 1; merge < limits::card_checked_merges_max; ++merge) {
    SCOPED_TRACE(merge);
    now.wall_ns += 30 * minute_ns;
    check_in_vain("TIMEOUT");
    then_names({"StationFailed", "RunFailed", "CardMergeDeferred"});
  }
  now.wall_ns += 30 * minute_ns;
  check_in_vain("TIMEOUT");
  then_names({"StationFailed", "RunFailed", "CardBlocked"});
  EXPECT_EQ(the_card().code, "TIMEOUT");
  EXPECT_EQ(the_card().message, "after 10 merges, the checks of its merge still fail: no");
  EXPECT_EQ(the_card().retry_at_ns, 0) << "a person decides whether it is worked on again";
  when(UnblockCard{card, {}});
  EXPECT_EQ(next_to_start(world), &the_card());
}

TEST_F(CardOfADeferredMerge, WaitsAsABlockedCardDoes) {  // A9
  merge_until_it_waits();
  EXPECT_EQ(merge_due_ns(world, the_card()), now.wall_ns + 30 * minute_ns);
  now.wall_ns += 30 * minute_ns - 1;
  EXPECT_EQ(next(), nullptr);
  when(merge_of(card, uuid_of(9)));
  then_rejected(ErrorCode::CARD_BUSY);
  now.wall_ns += 1;
  EXPECT_EQ(next(), &the_card());
  merge_in_vain("BASE_MOVED");
  EXPECT_EQ(next(), nullptr) << "and again after each further one";
}

TEST_F(CardOfADeferredMerge, DoesntWaitForTheTimeOfAClockThatWasAhead) {  // A9
  merge_until_it_waits();
  now.wall_ns -= limits::clock_difference_ms_max * 1'000'000;
  EXPECT_EQ(next(), nullptr);
  now.wall_ns -= 1;
  EXPECT_EQ(next(), &the_card());
}

TEST_F(CardOfADeferredMerge, IsMergedAtOnceAfterAPersonUnblocksIt) {  // A9
  merge_until_it_waits();
  when(UnblockCard{card, "the disk is mounted again"});
  then_names({"CardUnblocked"});
  EXPECT_EQ(status(), CardStatus::verified);
  EXPECT_EQ(the_card().commit, "c0ffee");
  EXPECT_EQ(the_card().runs, 1U);
  EXPECT_EQ(merge_due_ns(world, the_card()), 0);
  EXPECT_EQ(next(), &the_card());
  when(UnblockCard{card, {}});
  then_nothing();
}

TEST_F(CardOfADeferredMerge, IsNotInTheWayOfOtherMerges) {  // A9
  merge_until_it_waits();
  const CardId first = card;
  card = uuid_of(0xcb);
  given({submitted()});
  run = uuid_of(8);
  when(start_of(card, run));
  work("implement", Outcome::succeeded);
  work("verify", Outcome::succeeded, {}, "beef");
  now.wall_ns += 30 * minute_ns;
  EXPECT_EQ(next(), world.board.find(card)) << "also when the other's time has come";
  run = uuid_of(9);
  when(merge_of(card, run));
  finish_merge(Outcome::succeeded);
  EXPECT_EQ(next(), world.board.find(first));
}

}  // namespace
}  // namespace signalbox
