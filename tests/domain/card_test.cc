// Cards: how their runs take them from the backlog to merged, blocked or failed.
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "domain/admission.h"
#include "domain/evolve.h"
#include "domain/limits.h"
#include "tests/domain/card_fixture.h"

namespace signalbox {
namespace {

TEST_F(CardTest, ItsRunStartsInTheSameCommit) {  // H1
  when(start_of(card, run));
  then_names({"CardStarted", "RunStarted"});
  EXPECT_EQ(status(), CardStatus::running);
  EXPECT_EQ(the_run().goal, "Fix it\n\nAll of it");
  EXPECT_EQ(the_run().repository, "/repositories/site");
  EXPECT_EQ(the_run().base, "main");
  EXPECT_EQ(world.worktrees.count(run), 1U);
}

TEST_F(CardTest, GoesWithItsRunToVerified) {  // H1, H7
  when(start_of(card, run));
  work("implement", Outcome::succeeded);
  EXPECT_EQ(status(), CardStatus::running);
  when(claim_by("ann", {"verify"}));
  then_names({"StationClaimed", "CardVerificationStarted"});
  EXPECT_EQ(status(), CardStatus::verifying);
  CompleteStation done = end_of("verify", the_run().attempt->token, Outcome::succeeded);
  done.external_ref = "c0ffee";
  when(done);
  then_names({"StationSucceeded", "RunSucceeded", "CardVerified"});
  EXPECT_EQ(status(), CardStatus::verified);
  EXPECT_EQ(the_card().commit, "c0ffee");
}

TEST_F(CardTest, IsBlockedWhenItsRunFailsAndRetriedNotBeforeItsTime) {  // H5
  when(start_of(card, run));
  fail();
  then_names({"StationFailed", "RunFailed", "CardBlocked"});
  EXPECT_EQ(status(), CardStatus::blocked);
  EXPECT_EQ(the_card().code, "CHECKS_FAILED");
  EXPECT_EQ(the_card().retry_at_ns, now.wall_ns + 30 * minute_ns);
  now.wall_ns += 30 * minute_ns - 1;
  when(RetryBlockedCards{});
  then_nothing();
  now.wall_ns += 1;
  when(RetryBlockedCards{});
  then_names({"CardUnblocked"});
  EXPECT_EQ(status(), CardStatus::backlog);
  EXPECT_EQ(the_card().runs, 1U);
}

TEST_F(CardTest, WhatBecomesOfAWorktreeIsAnEvent) {  // H6
  NoteWorktree note{project, run, "/repositories/site/w", true, "refs/signalbox/rescue/1", ""};
  when(note);
  then({ProjectEvent{WorktreeRemoved{run, note.path, note.rescue_ref}}});
  note.removed = false;
  note.reason = "it is busy";
  when(note);
  then({ProjectEvent{WorktreeLeft{run, note.path, note.reason}}});
}

// A station with a timeout of its own keeps it.
TEST_F(CardTest, ItsAgentsHaveTheTimeThatThePolicyGives) {  // H7
  Project site = *world.find_project(project);
  site.pipeline.stations.resize(3);
  for (StationDefinition& each : site.pipeline.stations) each.executor = ExecutorKind::coderunner;
  site.pipeline.stations[1].timeout_ms = 5000;
  site.pipeline.stations[2].executor = ExecutorKind::process;
  const auto stations = run_of_card(site, the_card()).pipeline->stations;
  EXPECT_EQ(stations[0].timeout_ms, 30 * 60'000) << "unless the policy says otherwise";
  EXPECT_EQ(stations[1].timeout_ms, 5000);
  EXPECT_EQ(stations[2].timeout_ms, StationDefinition{}.timeout_ms);
  site.policy.agent_timeout_minutes = 7;
  EXPECT_EQ(run_of_card(site, the_card()).pipeline->stations[0].timeout_ms, 7 * 60'000);
}

TEST_F(CardTest, ItsRunBeginsAtTheProjectsRemoteAndPushesThere) {  // A3, A9
  Project site = *world.find_project(project);
  site.pipeline.stations = {builtin_station(BuiltinStation::intake),
                            builtin_station(BuiltinStation::create_pr)};
  const auto stations = run_of_card(site, the_card()).pipeline->stations;
  EXPECT_EQ(stations[0].remote, "origin");
  EXPECT_EQ(stations[0].retry, RetryPolicy{});
  EXPECT_EQ(stations[1].remote, "origin");
  const std::uint32_t further = site.policy.max_attempts - 1;
  EXPECT_EQ(stations[1].retry.max_retries, limits::create_pr_retries_max + further)
      << "it is tried again without the agent, in place of the runs that are left";
  Card last = the_card();
  last.runs = site.policy.max_attempts - 1;
  EXPECT_EQ(run_of_card(site, last).pipeline->stations[1].retry.max_retries,
            limits::create_pr_retries_max);
  site.pipeline.stations[1].retry.max_retries = 0;
  EXPECT_EQ(run_of_card(site, the_card()).pipeline->stations[1].retry.max_retries, 0U)
      << "unless the pipeline says otherwise";
}

// Another run would do the agent's work again, which a failed push is no reason for.
TEST_F(CardTest, WaitsForAPersonWhenItsPushFailed) {  // A9
  when(start_of(card, run));
  when(claim_by("ann", {"implement"}));
  CompleteStation failed = end_of("implement", the_run().attempt->token, Outcome::failed);
  failed.error_class = ErrorClass::terminal;
  failed.error_code = "PUSH_FAILED";
  failed.error_message = "no route to host";
  when(failed);
  then_names({"StationFailed", "RunFailed", "CardBlocked"});
  EXPECT_EQ(the_card().code, "PUSH_FAILED");
  EXPECT_EQ(the_card().retry_at_ns, 0);
  now.wall_ns += 600 * minute_ns;
  when(RetryBlockedCards{});
  then_nothing();
  when(UnblockCard{card, {}});
  EXPECT_EQ(status(), CardStatus::backlog);
}

// The work lies in the worktree, and only a person can say what to do with it.
TEST_F(CardTest, WaitsForAPersonWhenItsWorktreeHoldsWhatNoCommitShould) {  // A1
  std::uint8_t latest = 20;  // no two runs have the same id
  for (const std::string code : {"NESTED_REPOSITORY", "FILE_TOO_LARGE", "FILE_REFUSED",
                                 "LEFT_OUT_REFS_FULL", "WORKSPACE_TAMPERED"}) {
    when(start_of(card, run));
    when(claim_by("ann", {"implement"}));
    CompleteStation failed = end_of("implement", the_run().attempt->token, Outcome::failed);
    failed.error_class = ErrorClass::terminal;
    failed.error_code = code;
    failed.error_message = "look at vendor";
    when(failed);
    then_names({"StationFailed", "RunFailed", "CardBlocked"});
    EXPECT_EQ(the_card().code, code);
    EXPECT_EQ(the_card().retry_at_ns, 0);
    now.wall_ns += 600 * minute_ns;
    when(RetryBlockedCards{});
    then_nothing();
    EXPECT_TRUE(waits_for_look(world, run));
    when(UnblockCard{card, {}});
    EXPECT_EQ(status(), CardStatus::backlog);
    EXPECT_FALSE(waits_for_look(world, run));
    EXPECT_EQ(next_to_start(world), nullptr) << "its next run goes on with what is kept of it";
    EXPECT_EQ(why_waiting(world, the_card()).reason, CardWaitReason::worktree);
    const RunId next = uuid_of(++latest);
    when(start_of(card, next));
    EXPECT_TRUE(rejection.has_value());
    when(NoteWorktree{project, run, "/repositories/site/w", true, "refs/signalbox/rescue/1", ""});
    EXPECT_EQ(next_to_start(world), &the_card());
    run = next;
  }
}

TEST_F(CardTest, SaysThatTheHeadOfItsLaneWaitsForAWorktree) {  // A1
  when(start_of(card, run));
  when(claim_by("ann", {"implement"}));
  CompleteStation failed = end_of("implement", the_run().attempt->token, Outcome::failed);
  failed.error_class = ErrorClass::terminal;
  failed.error_code = "NESTED_REPOSITORY";
  failed.error_message = "look at vendor";
  when(failed);
  when(UnblockCard{card, {}});
  const CardId head = card;
  card = uuid_of(0xcb);
  given({submitted()});
  EXPECT_EQ(next_to_start(world), nullptr);
  const CardWait wait = why_waiting(world, the_card());
  EXPECT_EQ(wait.reason, CardWaitReason::order);
  EXPECT_EQ(wait.holders, std::vector<CardId>{head});
  when(NoteWorktree{project, run, "/repositories/site/w", true, "refs/signalbox/rescue/1", ""});
  EXPECT_EQ(next_to_start(world), world.board.find(head));
  EXPECT_EQ(why_waiting(world, the_card()).holders, std::vector<CardId>{head});
}

TEST_F(CardTest, ItsPolicySaysWhetherAndWhenItIsRetried) {  // H3, H5
  Policy policy;
  policy.retry_blocked = false;
  policy.blocked_retry_minutes = 5;
  when(AdoptPolicy{project, digest_of(1), policy});
  when(start_of(card, run));
  fail();
  EXPECT_EQ(the_card().retry_at_ns, now.wall_ns + 5 * minute_ns);
  now.wall_ns += 60 * minute_ns;
  when(RetryBlockedCards{});
  then_nothing();
}

TEST_F(CardTest, AChangedPolicyReachesItWhileItIsBlocked) {  // A8
  when(start_of(card, run));
  fail();
  const std::int64_t blocked_ns = now.wall_ns;
  Policy policy;
  policy.blocked_retry_minutes = 1;
  when(AdoptPolicy{project, digest_of(1), policy});
  EXPECT_EQ(retry_due_ns(world, the_card()), blocked_ns + minute_ns);
  now.wall_ns = blocked_ns + minute_ns - 1;
  when(RetryBlockedCards{});
  then_nothing();
  policy.blocked_retry_minutes = 90;
  when(AdoptPolicy{project, digest_of(2), policy});
  now.wall_ns = blocked_ns + 90 * minute_ns - 1;
  when(RetryBlockedCards{});
  then_nothing();
  now.wall_ns += 1;
  when(RetryBlockedCards{});
  then_names({"CardUnblocked"});
  EXPECT_EQ(retry_due_ns(world, the_card()), 0);
}

TEST_F(CardTest, HasFailedWithTheLastOfItsRuns) {
  Policy policy;
  policy.max_attempts = 2;
  when(AdoptPolicy{project, digest_of(1), policy});
  when(start_of(card, run));
  fail();
  now.wall_ns += 30 * minute_ns;
  when(RetryBlockedCards{});
  run = uuid_of(2);
  when(start_of(card, run));
  fail();
  then_names({"StationFailed", "RunFailed", "CardFailed"});
  EXPECT_EQ(status(), CardStatus::failed);
  when(UnblockCard{card, "the tests are right now"});
  EXPECT_EQ(status(), CardStatus::backlog);
  EXPECT_EQ(the_card().runs, 0U) << "somebody looked at it: it has all its runs again";
}

TEST_F(CardTest, WaitsForAPersonWhereARetryWouldBeInVain) {
  when(start_of(card, run));
  work("implement", Outcome::failed, ErrorClass::config);
  EXPECT_EQ(status(), CardStatus::blocked);
  EXPECT_EQ(the_card().retry_at_ns, 0);
}

// An earlier version accepted the pipeline. The board starts other cards all the same.
TEST_F(CardTest, IsBlockedAloneWhenItsProjectsPipelineIsRefused) {  // G10
  Event old = project_put();
  std::get<ProjectPut>(std::get<ProjectEvent>(old))
      .pipeline.stations[0]
      .environment.emplace_back("SIGNALBOX_ACCESS_TOKEN");
  given({old});
  ASSERT_EQ(next_to_start(world), &the_card());
  when(start_of(card, run));
  then_names({"CardBlocked"});
  EXPECT_EQ(next_to_start(world), nullptr);
  EXPECT_EQ(the_card().code, "PIPELINE_INVALID");
  EXPECT_EQ(the_card().retry_at_ns, 0);
  EXPECT_NE(the_card().message.find("SIGNALBOX_ACCESS_TOKEN"), std::string::npos);
  EXPECT_NE(the_card().message.find("signalbox project put site --repository /repositories/site "
                                    "--base main --remote origin --pipeline FILE"),
            std::string::npos)
      << the_card().message;
  given({project_put()});
  when(UnblockCard{card, "it has another pipeline"});
  when(start_of(card, run));
  then_names({"CardStarted", "RunStarted"});
}

TEST_F(CardTest, OnlyTheNextOneStarts) {  // H4
  const CardId first = card;
  card = uuid_of(0xcb);
  given({submitted()});
  when(start_of(card, run));
  then_rejected(ErrorCode::CARD_BUSY);
  when(start_of(first, run));
  then_names({"CardStarted", "RunStarted"});
}

// The result is held until a person has decided; the station that succeeds by that reports none.
TEST_F(CardTest, ItsCommitIsThatOfTheResultThatWasHeld) {  // G10, H1
  when(start_of(card, run));
  work("implement", Outcome::succeeded);
  when(claim_by("ann", {"verify"}));
  const Token token = the_run().attempt->token;
  when(RequestApproval{run, "verify", token, "push it?"});
  then_names({"StationApprovalRequested"});
  CompleteStation done = end_of("verify", token);
  done.external_ref = "c0ffee";
  when(done);
  then_names({"StationResultHeld"});
  when(ResumeRun{run, {}, Decision::approve, {}});
  then_names({"StationApproved", "RunSucceeded", "CardVerified"});
  EXPECT_EQ(the_card().commit, "c0ffee");
}

TEST_F(CardTest, WhatIsntThereIsSaid) {
  when(BlockCard{uuid_of(3), "x"});
  then_rejected(ErrorCode::CARD_NOT_FOUND);
  when(UnblockCard{uuid_of(3), {}});
  then_rejected(ErrorCode::CARD_NOT_FOUND);
  SubmitCard command;
  command.project = "nowhere";
  command.title = "x";
  when(command);
  then_rejected(ErrorCode::PROJECT_NOT_FOUND);
}

TEST_F(CardTest, ItsTextFitsIntoAGoal) {
  SubmitCard command;
  command.project = project;
  command.title = std::string(limits::card_title_bytes_max, 't');
  command.brief = std::string(limits::card_brief_bytes_max, 'b');
  command.card_id = uuid_of(4);
  when(command);
  EXPECT_LE(run_of_card(*world.find_project(project), *world.board.find(uuid_of(4))).goal.size(),
            limits::goal_bytes_max);
  command.title += "t";
  when(command);
  then_rejected(ErrorCode::LIMIT_EXCEEDED);
}

// Written a second time on purpose: a change of a table is a change of the contract.
TEST(CardTransitions, TheTableSaysWhatIsMeant) {
  using enum CardStatus;
  const std::map<std::pair<CardStatus, std::string>, CardStatus> meant = {
      {{backlog, "CardStarted"}, running},
      {{backlog, "CardBlocked"}, blocked},
      {{running, "CardVerificationStarted"}, verifying},
      {{running, "CardVerified"}, verified},
      {{running, "CardBlocked"}, blocked},
      {{running, "CardFailed"}, failed},
      {{verifying, "CardVerified"}, verified},
      {{verifying, "CardBlocked"}, blocked},
      {{verifying, "CardFailed"}, failed},
      {{verified, "CardMergeStarted"}, verified},
      {{verified, "CardMergeDeferred"}, verified},
      {{verified, "CardUnblocked"}, verified},
      {{verified, "CardMerged"}, merged},
      {{verified, "CardBlocked"}, blocked},
      {{verified, "CardFailed"}, failed},
      {{blocked, "CardBlocked"}, blocked},
      {{blocked, "CardUnblocked"}, backlog},
      {{failed, "CardBlocked"}, blocked},
      {{failed, "CardUnblocked"}, backlog},
      {{backlog, "CardPrioritySet"}, backlog},
      {{running, "CardPrioritySet"}, running},
      {{verifying, "CardPrioritySet"}, verifying},
      {{verified, "CardPrioritySet"}, verified},
      {{blocked, "CardPrioritySet"}, blocked},
      {{failed, "CardPrioritySet"}, failed}};
  std::size_t found = 0;
  for (const CardTransition& row : card_transitions) {
    const auto place = meant.find({row.from, std::string(row.on.name)});
    ASSERT_NE(place, meant.end()) << shown(row.from) << " " << row.on.name;
    EXPECT_EQ(place->second, row.to) << shown(row.from) << " " << row.on.name;
    ++found;
  }
  EXPECT_EQ(found, meant.size());
}

TEST(CardTransitions, EvolveAbortsOnEveryPairThatTheTableHasNot) {
  GTEST_FLAG_SET(death_test_style, "fast");
  World world;
  const auto apply_to = [&world](Stream stream, Event event) {
    Record record;
    record.position = world.position + 1;
    record.stream = std::move(stream);
    record.event = std::move(event);
    evolve(world, record);
  };
  const CardId id = uuid_of(1);
  const std::array<CardEvent, 9> events = {
      CardStarted{uuid_of(2), 1},      CardVerificationStarted{uuid_of(2), "verify"},
      CardVerified{uuid_of(2), 1, ""}, CardBlocked{{}, "BLOCKED", "", 0},
      CardFailed{uuid_of(2), "", ""},  CardUnblocked{"", false},
      CardMergeStarted{uuid_of(3)},    CardMergeDeferred{uuid_of(3), "", ""},
      CardMerged{uuid_of(3), ""}};
  apply_to(Stream::project("site"), project_put());
  apply_to(Stream::card(id), submitted());
  for (const CardEvent& event : events) {
    if (!next_status(CardStatus::backlog, tag_of(event).number)) {
      EXPECT_DEATH(apply_to(Stream::card(id), event), "not true") << shown(Event{event});
    }
  }
  apply_to(Stream::card(id), CardEvent{CardStarted{uuid_of(2), 1}});
  apply_to(Stream::card(id), CardEvent{CardFailed{uuid_of(2), "X", ""}});
  for (const CardEvent& event : events) {
    if (!next_status(CardStatus::failed, tag_of(event).number)) {
      EXPECT_DEATH(apply_to(Stream::card(id), event), "not true") << shown(Event{event});
    }
  }
}

}  // namespace
}  // namespace signalbox
