// What people decide about cards: they reject or cancel their work, block them and unblock them.
#include <gtest/gtest.h>

#include "domain/admission.h"
#include "tests/domain/card_fixture.h"

namespace signalbox {
namespace {

// Whether the attempt is under way or has succeeded: what was rejected isn't tried again by itself.
TEST_F(CardTest, WaitsForAPersonWhenItsWorkIsRejected) {  // G10, H5
  const auto ask = [this] {
    when(start_of(card, run));
    when(claim_by("ann", {"implement"}));
    when(RequestApproval{run, "implement", the_run().attempt->token, "may I?"});
  };
  const auto expect_rejected = [this] {
    EXPECT_EQ(status(), CardStatus::blocked);
    EXPECT_EQ(the_card().code, "REJECTED");
    EXPECT_EQ(the_card().message, "not that");
    EXPECT_EQ(the_card().retry_at_ns, 0);
    now.wall_ns += 31 * minute_ns;
    when(RetryBlockedCards{});
    then_nothing();
  };
  ask();
  when(ResumeRun{run, "not that", Decision::reject, {}});
  then_names({"RunCancelRequested", "StationFailed", "RunFailed", "CardBlocked"});
  expect_rejected();
  when(UnblockCard{card, "another way"});
  run = uuid_of(2);
  ask();
  when(end_of("implement", the_run().attempt->token));
  then_names({"StationResultHeld"});
  when(ResumeRun{run, "not that", Decision::reject, {}});
  then_names({"StationRejected", "RunFailed", "CardBlocked"});
  expect_rejected();
}

TEST_F(CardTest, IsBlockedWhenItsRunIsCanceled) {
  when(start_of(card, run));
  when(CancelRun{run, "not this way"});
  then_names({"StationCanceled", "RunCanceled", "CardBlocked"});
  EXPECT_EQ(the_card().code, "CANCELED");
  EXPECT_EQ(the_card().message, "not this way");
  EXPECT_EQ(the_card().retry_at_ns, 0);
}

TEST_F(CardTest, ItsRunIsNotRetriedBesideIt) {
  when(start_of(card, run));
  fail();
  RetryRun retry;
  retry.run_id = run;
  when(retry);
  then_rejected(ErrorCode::CARD_BUSY);
}

TEST_F(CardTest, IsBlockedAndUnblockedByHand) {
  when(BlockCard{card, "wait for the design"});
  then_names({"CardBlocked"});
  EXPECT_EQ(next_to_start(world), nullptr);
  when(BlockCard{card, "wait for the design"});
  then_nothing();
  when(UnblockCard{card, {}});
  EXPECT_EQ(next_to_start(world), &the_card());
  when(UnblockCard{card, {}});
  then_nothing();
}

// A failure blocked it; from now on a person does.
TEST_F(CardTest, IsBlockedByHandWhateverBlockedItBefore) {
  when(start_of(card, run));
  work("implement", Outcome::failed, ErrorClass::config);
  when(BlockCard{card, the_card().message});
  then_names({"CardBlocked"});
  EXPECT_EQ(the_card().code, "BLOCKED");
  when(BlockCard{card, the_card().message});
  then_nothing();
  when(BlockCard{card, "wait for the design"});
  then_names({"CardBlocked"});
}

// Its next run is given what the worktree holds, however long a person keeps it from starting.
TEST_F(CardTest, BlockedByHandItKeepsWhyAPersonHasToLook) {  // A1
  when(start_of(card, run));
  when(claim_by("ann", {"implement"}));
  CompleteStation failed = end_of("implement", the_run().attempt->token, Outcome::failed);
  failed.error_class = ErrorClass::terminal;
  failed.error_code = "NESTED_REPOSITORY";
  failed.error_message = "look at vendor";
  when(failed);
  for (const std::string reason : {"on holiday", "still on holiday"}) {
    when(BlockCard{card, reason});
    then_names({"CardBlocked"});
    EXPECT_EQ(the_card().code, "NESTED_REPOSITORY");
    EXPECT_EQ(the_card().message, "look at vendor; blocked by a person: " + reason);
    when(BlockCard{card, reason});
    then_nothing();
  }
  when(UnblockCard{card, {}});
  EXPECT_TRUE(waits_for_worktree(world, the_card()));
}

TEST_F(CardTest, ThatHasFailedIsNotBlockedAsWell) {
  Policy policy;
  policy.max_attempts = 1;
  when(AdoptPolicy{project, digest_of(1), policy});
  when(start_of(card, run));
  fail();
  EXPECT_EQ(status(), CardStatus::failed);
  when(BlockCard{card, "stop"});
  then_nothing();
}

TEST_F(CardTest, IsNotBlockedUnderItsRun) {
  when(start_of(card, run));
  when(BlockCard{card, "stop"});
  then_rejected(ErrorCode::CARD_BUSY);
  EXPECT_EQ(rejection->next_commands.front(), "signalbox run cancel " + to_string(run));
}

// Whoever unblocks a card has seen one block, and another one may have followed it.
TEST_F(CardTest, IsntUnblockedByWhoSawAnEarlierBlock) {  // A9
  when(BlockCard{card, "the tests are wrong"});
  const Position first = the_card().changed_at;
  when(UnblockCard{card, {}, first});
  then_names({"CardUnblocked"});
  when(BlockCard{card, "never push this: it has a secret"});
  const Position second = the_card().changed_at;
  when(UnblockCard{card, "the tests are right now", first});
  then_rejected(ErrorCode::OUTDATED);
  EXPECT_NE(rejection->message.find("it has a secret"), std::string::npos) << rejection->message;
  ASSERT_EQ(rejection->next_commands.size(), 2U);
  EXPECT_EQ(rejection->next_commands[1],
            "signalbox card unblock " + to_string(card) + " --seen " + std::to_string(second));
  when(SetCardPriority{card, 3, {}});
  when(UnblockCard{card, {}, second});
  then_names({"CardUnblocked"});
  when(UnblockCard{card, {}, first});
  then_nothing();
}

}  // namespace
}  // namespace signalbox
