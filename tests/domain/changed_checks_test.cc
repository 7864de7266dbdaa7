// Work that changes what checks it: what the policy makes of it, and that other cards go on.
#include <gtest/gtest.h>

#include "domain/admission.h"
#include "domain/attempt_end.h"
#include "domain/limits.h"
#include "tests/domain/card_fixture.h"

namespace signalbox {
namespace {

class ChangedChecksTest : public CardTest {
 protected:
  void follow(ChecksChanged rule) {
    Policy policy;
    policy.checks_changed = rule;
    given({ProjectEvent{PolicyAdopted{digest_of(1), policy}}});
  }
  // The service's own executor ends the last station, as create_pr would.
  void propose(const std::string& changed = "AGENTS.md and check.sh") {
    when(start_of(card, run));
    work("implement", Outcome::succeeded);
    when(claim_by("ann", {"verify"}));
    CompleteStation done = end_of("verify", the_run().attempt->token);
    done.external_ref = "c0ffee";
    done.from_executor = true;
    done.checks_changed = changed;
    when(done);
  }
  void decide_with(Decision decision) {
    ResumeRun resume;
    resume.run_id = run;
    resume.decision = decision;
    resume.station = "verify";
    resume.asked = the_run().asked_at;
    when(resume);
  }
};

TEST_F(ChangedChecksTest, APersonIsAskedBeforeTheWorkIsVerified) {  // A7
  propose();
  then_names({"StationApprovalRequested", "StationResultHeld"});
  const auto* asked = event_as<StationApprovalRequested>(events.front().event);
  EXPECT_EQ(asked->question,
            "the work changes files that decide how it is checked: AGENTS.md and check.sh. May it "
            "be merged?");
  EXPECT_EQ(status(), CardStatus::verifying);
  EXPECT_EQ(next_to_merge(world, project, now.wall_ns), nullptr);
  decide_with(Decision::approve);
  then_names({"StationApproved", "RunSucceeded", "CardVerified"});
  EXPECT_EQ(the_card().commit, "c0ffee");
  EXPECT_EQ(next_to_merge(world, project, now.wall_ns), &the_card());
}

TEST_F(ChangedChecksTest, WorkThatAPersonRejectsWaitsForAPerson) {  // A7
  propose();
  decide_with(Decision::reject);
  then_names({"StationRejected", "RunFailed", "CardBlocked"});
  EXPECT_EQ(the_card().code, rejected_code);
  EXPECT_EQ(the_card().retry_at_ns, 0) << "it isn't tried again by itself";
}

TEST_F(ChangedChecksTest, AMergeThatIsDeferredDoesNotAskAgain) {  // A7
  propose();
  decide_with(Decision::approve);
  for (std::uint8_t merge = 9; merge < 11; ++merge) {
    run = uuid_of(merge);
    when(merge_of(card, run));
    when(DispatchStation{run, uuid_of(0x60), {}});
    CompleteStation done = end_of("merge", the_run().attempt->token);
    done.from_executor = true;
    done.checks_changed = "AGENTS.md";
    when(done);
    then_names({"StationSucceeded"});
    when(DispatchStation{run, uuid_of(0x61), {}});
    CompleteStation push = end_of("push", the_run().attempt->token, Outcome::failed);
    push.from_executor = true;
    push.error_class = ErrorClass::terminal;
    push.error_code = "BASE_MOVED";
    when(push);
    then_names({"StationFailed", "RunFailed", "CardMergeDeferred"});
  }
}

TEST_F(ChangedChecksTest, APolicyMayAllowOrRefuseIt) {  // A7
  follow(ChecksChanged::allow);
  propose();
  then_names({"StationSucceeded", "RunSucceeded", "CardVerified"});
}

TEST_F(ChangedChecksTest, WhatThePolicyRefusesIsBlockedUntilAPersonUnblocksIt) {  // A7
  follow(ChecksChanged::refuse);
  propose();
  then_names({"StationFailed", "RunFailed", "CardBlocked"});
  EXPECT_EQ(the_card().code, "CHECKS_CHANGED");
  EXPECT_NE(the_card().message.find("AGENTS.md and check.sh"), std::string::npos);
  EXPECT_EQ(the_card().retry_at_ns, 0);
}

TEST_F(ChangedChecksTest, UnchangedChecksNeedNobody) {  // A7
  propose("");
  then_names({"StationSucceeded", "RunSucceeded", "CardVerified"});
}

// Only the service's own station knows: a worker can't hold a card up by saying so.
TEST_F(ChangedChecksTest, AWorkerCannotSayIt) {  // A7
  when(start_of(card, run));
  work("implement", Outcome::succeeded);
  when(claim_by("ann", {"verify"}));
  CompleteStation done = end_of("verify", the_run().attempt->token);
  done.checks_changed = "AGENTS.md";
  when(done);
  then_names({"StationSucceeded", "RunSucceeded", "CardVerified"});
}

TEST_F(ChangedChecksTest, TheQuestionIsBounded) {  // A7
  propose(std::string(4000, 'x'));
  then_names({"StationApprovalRequested", "StationResultHeld"});
  EXPECT_LE(event_as<StationApprovalRequested>(events.front().event)->question.size(),
            limits::reason_bytes_max);
}

// Nobody knows when the person comes; the project's only agent has done its work.
TEST_F(ChangedChecksTest, OtherCardsGoOnWhileOneWaits) {  // A7, H4
  const CardId first = card;
  card = uuid_of(0xcb);
  given({submitted()});
  const CardId second = card;
  card = first;
  when(start_of(card, run));
  EXPECT_EQ(next_to_start(world), nullptr) << "one agent a project";
  EXPECT_EQ(why_waiting(world, *world.board.find(second)).holders, std::vector<CardId>{first});
  work("implement", Outcome::succeeded);
  when(claim_by("ann", {"verify"}));
  CompleteStation done = end_of("verify", the_run().attempt->token);
  done.from_executor = true;
  done.checks_changed = "AGENTS.md";
  when(done);
  EXPECT_EQ(next_to_start(world), world.board.find(second));
  EXPECT_TRUE(still_working(world, world.board.agents()).empty());
  EXPECT_EQ(why_waiting(world, *world.board.find(second)).reason, CardWaitReason::none);
}

// Each of them has cost an agent's run, and nobody has looked at one.
TEST_F(ChangedChecksTest, NoCardStartsBesideTooManyThatWait) {  // A7, H4
  // One of them in place of the agent that the policy allows.
  const std::uint32_t held_max = limits::held_cards_max + 1;
  for (std::uint32_t held = 1; held <= held_max; ++held) {
    if (held > 1) {
      card = uuid_of(static_cast<std::uint8_t>(0x80 + held));
      given({submitted()});
      run = uuid_of(static_cast<std::uint8_t>(held));
    }
    ASSERT_EQ(next_to_start(world), &the_card());
    propose();
    then_names({"StationApprovalRequested", "StationResultHeld"});
  }
  card = uuid_of(0x70);
  given({submitted()});
  EXPECT_EQ(next_to_start(world), nullptr);
  const CardWait wait = why_waiting(world, the_card());
  EXPECT_EQ(wait.scope, "held");
  EXPECT_EQ(wait.limit, limits::held_cards_max);
  EXPECT_EQ(wait.holders.size(), held_max);
  decide_with(Decision::approve);
  EXPECT_EQ(next_to_start(world), &the_card());
}

// An agent's station follows the wait: its place is kept, or there would be one agent too many.
TEST_F(ChangedChecksTest, AWaitBeforeAnAgentsStationKeepsItsPlace) {  // H4
  const CardId first = card;
  card = uuid_of(0xcb);
  given({submitted()});
  card = first;
  when(start_of(card, run));
  when(claim_by("ann", {"implement"}));
  const Token token = the_run().attempt->token;
  when(RequestApproval{run, "implement", token, "may I?"});
  when(end_of("implement", token));
  then_names({"StationResultHeld"});
  EXPECT_EQ(next_to_start(world), nullptr);
}

}  // namespace
}  // namespace signalbox
