// Cards whose run did all of its work and couldn't push it: once unblocked they go on with that
// run, and no agent works again.
#include <gtest/gtest.h>

#include <vector>

#include "domain/admission.h"
#include "domain/evolve.h"
#include "domain/placement.h"
#include "domain/retry_policy.h"
#include "tests/domain/card_fixture.h"

namespace signalbox {
namespace {

class CardOfAFailedPush : public CardTest {
 protected:
  // Like when(), and keeps the run's records, from which it is reopened.
  void take(const Command& command) {
    when(command);
    ASSERT_FALSE(rejection.has_value()) << rejection->message;
    Position position = world.position - static_cast<Position>(events.size());
    for (const NewEvent& event : events) {
      ++position;
      if (event.stream != Stream::run(run)) continue;
      Record record;
      record.position = position;
      record.stream = event.stream;
      record.span_id = event.span_id;
      record.event = event.event;
      log.push_back(std::move(record));
    }
  }
  // The card's run implements it for 5 cents, and its push fails.
  void fail_first_push() {
    put.pipeline.name = "site";
    put.pipeline.stations = {worker_station("implement"),
                             builtin_station(BuiltinStation::create_pr)};
    name_max_retries(put.pipeline.stations.back().retry, 0);
    given({ProjectEvent{put}});
    take(start_of(card, run));
    take(claim_by("ann", {"implement"}));
    CompleteStation done = end_of("implement", the_run().attempt->token);
    done.usage.emplace().cost_microusd = 50'000;
    take(done);
    fail_push();
  }
  void fail_push() {
    end_push(Outcome::failed);
    EXPECT_EQ(world.find_run(run), nullptr);
    EXPECT_EQ(the_card().code, "PUSH_FAILED");
  }
  void end_push(Outcome outcome) {
    take(DispatchStation{run, uuid_of(0x60), {}});
    CompleteStation ended = end_of("create_pr", the_run().attempt->token, outcome);
    if (outcome != Outcome::succeeded) {
      ended.error_class = ErrorClass::transient;
      ended.error_code = "PUSH_FAILED";
      ended.error_message = "no route to host";
    }
    ended.from_executor = true;
    take(ended);
  }
  // The start of the card with another run, uuid_of(9), unless it goes on.
  [[nodiscard]] StartCard start_again() const {
    StartCard command = start_of(card, uuid_of(9));
    command.failed = {evolved_failed_run(log, *world.pipelines.at(digest_of(7)).definition),
                      log.back().position};
    return command;
  }
  void expect_done_again(const StartCard& start) {
    when(start);
    then_names({"CardStarted", "RunStarted"});
    EXPECT_EQ(the_card().run_id, uuid_of(9));
  }

  std::vector<Record> log;  // of `run`
  ProjectPut put{"/repositories/site", "main", "origin", {}};
};

TEST_F(CardOfAFailedPush, GoesOnWithItsRunAndPaysForNothingAgain) {  // A9
  fail_first_push();
  const Token token = log.front().position;
  EXPECT_EQ(the_card().retry_at_ns, 0) << "it was tried for long, and somebody has to mend it";
  EXPECT_TRUE(goes_on_with_run(world, the_card()));
  when(UnblockCard{card, "the remote is back"});
  then_names({"CardUnblocked"});
  EXPECT_TRUE(goes_on_with_run(world, the_card()));
  when(UnblockCard{card, "once more"});
  then_nothing();
  take(start_again());
  then_names({"CardStarted", "RunRetried"});
  EXPECT_EQ(events[0].span_id, run);
  EXPECT_EQ(events[1].cause, log[log.size() - 2].position) << "of its failure";
  EXPECT_EQ(the_card().run_id, run);
  EXPECT_EQ(the_card().runs, 1U);
  EXPECT_FALSE(goes_on_with_run(world, the_card())) << "it is worked on";
  EXPECT_EQ(the_run().definition().name, "create_pr");
  EXPECT_EQ(the_run().stations[0].attempts, 1U);
  EXPECT_EQ(the_run().used.cost_microusd, 50'000);
  end_push(Outcome::succeeded);
  EXPECT_EQ(status(), CardStatus::verified);
  EXPECT_EQ(the_card().token, token) << "its branch is the one that it had";
}

// Its work would be merged into the other base.
TEST_F(CardOfAFailedPush, KeepsTheBaseOfItsProjectWhileItCanGoOn) {  // A9, H11
  fail_first_push();
  PutProject other;
  other.name = project;
  other.repository = put.repository;
  other.base = "release";
  other.remote = put.remote;
  other.keep_pipeline = true;
  for (const bool is_unblocked : {false, true}) {
    if (is_unblocked) when(UnblockCard{card, {}});
    when(other);
    then_rejected(ErrorCode::CARD_BUSY);
  }
  when(BlockCard{card, "the project gets another base"});
  when(other);
  then_names({"ProjectPut"});
  when(UnblockCard{card, {}});
  expect_done_again(start_again());
}

// The runner is asked to remove the worktree later, whatever becomes of the run until then.
TEST_F(CardOfAFailedPush, GoesOnWhereItsWorktreeIs) {  // N3, A9
  fail_first_push();
  const std::string runner = runner_id("one", "0123456789abcdef");
  world.worktrees.at(run).runner = runner;
  when(UnblockCard{card, {}});
  EXPECT_FALSE(waits_for_worktree(world, the_card())) << "it goes on in it";
  take(start_again());
  EXPECT_EQ(world.worktrees.at(run).runner, runner);
}

// What the remote doesn't have yet can't be given to another runner.
TEST_F(CardOfAFailedPush, AnotherRunWaitsForTheEndOfAWorktreeAtARunner) {  // N3, A9
  fail_first_push();
  world.worktrees.at(run).runner = runner_id("one", "0123456789abcdef");
  when(BlockCard{card, "begin again"});
  when(UnblockCard{card, {}});
  EXPECT_FALSE(goes_on_with_run(world, the_card()));
  EXPECT_TRUE(waits_for_worktree(world, the_card()));
  given({ProjectEvent{WorktreeRemoved{run, "runner:one-0123456789abcdef:/w", {}}}});
  EXPECT_FALSE(waits_for_worktree(world, the_card()));
}

TEST_F(CardOfAFailedPush, GoesOnAsOftenAsThatFails) {  // A9
  Policy policy;
  policy.max_attempts = 1;
  given({ProjectEvent{PolicyAdopted{digest_of(3), policy}}});
  fail_first_push();
  for (int again = 0; again < 3; ++again) {
    EXPECT_EQ(status(), CardStatus::failed) << "the policy allows it one run";
    when(UnblockCard{card, {}});
    take(start_again());
    then_names({"CardStarted", "RunRetried"});
    fail_push();
  }
}

TEST_F(CardOfAFailedPush, IsDoneAgainOnceItsWorktreeIsGone) {  // A9
  fail_first_push();
  given({ProjectEvent{WorktreeRemoved{run, "/data/runs/1/workspace", {}}}});
  when(UnblockCard{card, {}});
  EXPECT_FALSE(goes_on_with_run(world, the_card()));
  expect_done_again(start_again());
}

// Somebody has corrected the remote.
TEST_F(CardOfAFailedPush, IsPushedToTheRemoteThatTheProjectHasByNow) {  // A9
  fail_first_push();
  when(UnblockCard{card, {}});
  take(start_again());
  EXPECT_EQ(remote_of_station(world, the_run()), "origin");
  put.remote = "fork";
  given({ProjectEvent{put}});
  EXPECT_EQ(remote_of_station(world, the_run()), "fork");
  EXPECT_EQ(the_run().definition().remote, "origin") << "as the log has it";
  put.pipeline.stations.back().remote = "own";
  given({ProjectEvent{put}});
  EXPECT_EQ(remote_of_station(world, the_run()), "own");
  put.pipeline.stations.pop_back();
  given({ProjectEvent{put}});
  EXPECT_EQ(remote_of_station(world, the_run()), "origin") << "the project has no such station";
}

TEST_F(CardOfAFailedPush, IsPushedNowhereIfTheProjectHasNoRemoteByNow) {  // A9, N3
  fail_first_push();
  when(UnblockCard{card, {}});
  take(start_again());
  put.remote.clear();
  given({ProjectEvent{put}});
  EXPECT_EQ(remote_of_station(world, the_run()), "");
  world.runs.at(run)->machine = runner_id("one", "0123456789abcdef");
  EXPECT_EQ(remote_of_station(world, the_run()), "origin") << "the work is at a runner";
}

// The worktree is of the former one.
TEST_F(CardOfAFailedPush, IsDoneAgainInAnotherRepository) {  // A9
  fail_first_push();
  EXPECT_EQ(former_repository(world, the_card()), "");
  put.repository = "/repositories/moved";
  given({ProjectEvent{put}});
  EXPECT_EQ(former_repository(world, the_card()), "/repositories/site");
  EXPECT_FALSE(goes_on_with_run(world, the_card()));
  when(UnblockCard{card, {}});
  const StartCard again = start_again();
  put.repository = "/repositories/site";
  given({ProjectEvent{put}});
  EXPECT_TRUE(goes_on_with_run(world, the_card())) << "it is the project's again";
  put.repository = "/repositories/moved";
  given({ProjectEvent{put}});
  expect_done_again(again);
  EXPECT_EQ(former_repository(world, the_card()), "");
  EXPECT_EQ(world.worktrees.at(run).repository, "/repositories/site");
  put.remote = "fork";
  put.repository = "/repositories/third";
  given({ProjectEvent{put}});
  run = uuid_of(9);
  take(claim_by("ann", {"implement"}));
  take(end_of("implement", the_run().attempt->token));
  EXPECT_EQ(remote_of_station(world, the_run()), "origin") << "it isn't that one's remote";
}

TEST_F(CardOfAFailedPush, IsDoneAgainWithoutTheRecordsOfItsRun) {  // A9
  fail_first_push();
  when(UnblockCard{card, {}});
  expect_done_again(start_of(card, uuid_of(9)));
}

TEST_F(CardOfAFailedPush, IsDoneAgainIfItsRunFailedOnceMoreSinceItWasRead) {  // A9
  fail_first_push();
  when(UnblockCard{card, {}});
  const StartCard old = start_again();
  take(old);
  fail_push();
  when(UnblockCard{card, {}});
  expect_done_again(old);
}

// The remote refuses the work itself: no push of it ever succeeds, and an agent has to change it.
TEST_F(CardOfAFailedPush, IsDoneAgainAfterAPersonHasBlockedIt) {  // A9
  fail_first_push();
  when(BlockCard{card, "on holiday"});
  EXPECT_EQ(the_card().code, "BLOCKED");
  when(BlockCard{card, "take the key out of config.py"});
  then_names({"CardBlocked"});
  EXPECT_EQ(the_card().message,
            "PUSH_FAILED: no route to host; blocked by a person: take the key out of config.py");
  ASSERT_TRUE(failed_proposal(the_card()));
  EXPECT_EQ(failed_proposal(the_card())->code, "PUSH_FAILED");
  EXPECT_EQ(failed_proposal(the_card())->message,
            "no route to host; blocked by a person: take the key out of config.py");
  when(BlockCard{card, "take the key out of config.py"});
  then_nothing();
  when(UnblockCard{card, {}});
  EXPECT_FALSE(goes_on_with_run(world, the_card()));
  EXPECT_TRUE(failed_proposal(the_card())) << "its next run is told";
  expect_done_again(start_again());
}

TEST_F(CardOfAFailedPush, IsDoneAgainIfItHadFailedBeforeThatBlock) {  // A9
  Policy policy;
  policy.max_attempts = 1;
  given({ProjectEvent{PolicyAdopted{digest_of(3), policy}}});
  fail_first_push();
  ASSERT_EQ(status(), CardStatus::failed);
  when(BlockCard{card, "take the key out of config.py"});
  EXPECT_EQ(status(), CardStatus::blocked);
  when(UnblockCard{card, {}});
  expect_done_again(start_again());
}

// What a redaction of the message would take with it.
TEST_F(CardOfAFailedPush, DependsOnItsMessageOnceAPersonHasBlockedIt) {  // G17
  fail_first_push();
  EXPECT_FALSE(depends_on_message(the_card(), the_card().message)) << "its code says so";
  when(BlockCard{card, "take the key out of config.py"});
  const std::string message = the_card().message;
  EXPECT_TRUE(depends_on_message(the_card(), message));
  EXPECT_FALSE(depends_on_message(the_card(), "take the key out of config.py"));
  Card redacted = the_card();
  redacted.message = "[redacted]";
  EXPECT_TRUE(depends_on_message(redacted, message));
}

TEST_F(CardOfAFailedPush, IsNoneIfAPersonOnlySaysSo) {  // A9
  when(BlockCard{card, "PUSH_FAILED: no; blocked by a person: me"});
  EXPECT_EQ(the_card().code, "BLOCKED");
  EXPECT_FALSE(failed_proposal(the_card())) << "it has had no run";
}

TEST_F(CardOfAFailedPush, IsDoneAgainAfterACancel) {  // A9
  fail_first_push();
  when(UnblockCard{card, {}});
  take(start_again());
  when(CancelRun{run, "not this way"});
  EXPECT_EQ(the_card().code, "CANCELED");
  when(UnblockCard{card, {}});
  EXPECT_FALSE(goes_on_with_run(world, the_card()));
  expect_done_again(start_of(card, uuid_of(9)));
}

TEST_F(CardOfAFailedPush, WaitsForItsTurnAsAnyOther) {  // A9
  fail_first_push();
  when(UnblockCard{card, {}});
  const StartCard again = start_again();
  when(PauseService{});
  when(again);
  then_rejected(ErrorCode::CARD_BUSY);
}

// It would do all of its work again, which isn't what the person expects.
TEST_F(CardOfAFailedPush, IsDoneAgainIfAStationOfAnotherKindSaysSo) {  // A9
  take(start_of(card, run));
  take(claim_by("ann", {"implement"}));
  CompleteStation failed = end_of("implement", the_run().attempt->token, Outcome::failed);
  failed.error_class = ErrorClass::terminal;
  failed.error_code = "PUSH_FAILED";
  take(failed);
  when(UnblockCard{card, {}});
  expect_done_again(start_again());
}

}  // namespace
}  // namespace signalbox
