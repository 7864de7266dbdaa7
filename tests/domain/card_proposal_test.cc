// Cards whose work is done and can't be proposed: their run tries it again, and no agent does.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "domain/admission.h"
#include "domain/limits.h"
#include "domain/retry_policy.h"
#include "tests/domain/card_fixture.h"

namespace signalbox {
namespace {

// Without a remote, too: the disk may be full, or the repository away.
TEST_F(CardTest, ItsRunProposesTheWorkForLongUnlessThePipelineSaysOtherwise) {  // A9
  Project site = *world.find_project(project);
  site.remote.clear();
  site.pipeline.stations = {builtin_station(BuiltinStation::create_pr)};
  const auto retries = [&] {
    return run_of_card(site, the_card()).pipeline->stations[0].retry.max_retries;
  };
  const std::uint32_t many = limits::create_pr_retries_max + site.policy.max_attempts - 1;
  EXPECT_EQ(retries(), many);
  site.pipeline.stations[0].retry.backoff_ms = 5000;
  EXPECT_EQ(retries(), many) << "a backoff is no number of retries";
  name_max_retries(site.pipeline.stations[0].retry, RetryPolicy{}.max_retries);
  EXPECT_EQ(retries(), RetryPolicy{}.max_retries) << "somebody wrote it, be it the usual one";
}

class CardOfADoneWork : public CardTest, public ::testing::WithParamInterface<std::string> {
 protected:
  // Dispatches create_pr and ends it with a failure of the parameter's code.
  void fail_to_propose(ErrorClass error_class) {
    when(DispatchStation{run, uuid_of(0x60), {}});
    CompleteStation failed = end_of("create_pr", the_run().attempt->token, Outcome::failed);
    if (GetParam() == "TIMEOUT") failed.outcome = Outcome::timeout;
    failed.error_class = error_class;
    failed.error_code = GetParam();
    failed.error_message = "the disk is gone";
    failed.from_executor = true;
    when(failed);
  }
  void implement(std::optional<std::uint32_t> max_retries = std::nullopt) {
    ProjectPut put{"/repositories/site", "main", "", {}};
    put.pipeline.name = "site";
    put.pipeline.stations = {worker_station("implement"),
                             builtin_station(BuiltinStation::create_pr)};
    if (max_retries) name_max_retries(put.pipeline.stations.back().retry, *max_retries);
    given({ProjectEvent{put}});
    when(start_of(card, run));
    work("implement", Outcome::succeeded);
  }
  // A push says by its code where it failed. Any other code is in the message.
  void expect_unproposed() const {
    const bool is_push = GetParam() == "PUSH_FAILED";
    EXPECT_EQ(the_card().code, is_push ? "PUSH_FAILED" : "NOT_PROPOSED");
    EXPECT_EQ(the_card().message, is_push ? "the disk is gone" : GetParam() + ": the disk is gone");
  }
};

// The agent's work is done, and what kept it from being proposed passes.
TEST_P(CardOfADoneWork, IsProposedAgainForHoursAndNeverDoneAgain) {  // A9
  implement();
  const std::int64_t begin_ns = now.wall_ns;
  for (int failures = 1; failures <= 100; ++failures) {
    fail_to_propose(ErrorClass::transient);
    if (world.find_run(run) == nullptr) break;
    EXPECT_TRUE(the_card().has_agent());
    EXPECT_TRUE(still_working(world, world.board.agents()).empty()) << "no agent is left of it";
    now.wall_ns = the_run().station().waiting_until_ns;
    when(WakeStation{run});
  }
  EXPECT_GT(now.wall_ns - begin_ns, 12 * 60 * minute_ns);
  EXPECT_EQ(status(), CardStatus::blocked);
  expect_unproposed();
  EXPECT_EQ(the_card().retry_at_ns, 0) << "another run is for a person to decide";
  when(UnblockCard{card, {}});
  EXPECT_EQ(next_to_start(world), &the_card());
  EXPECT_TRUE(goes_on_with_run(world, the_card()));
}

// Whoever blocks the card wants another run, which is told both reasons.
TEST_P(CardOfADoneWork, IsDoneAgainAfterAPersonHasBlockedIt) {  // A9
  Policy policy;
  policy.max_attempts = 1;
  given({ProjectEvent{PolicyAdopted{digest_of(3), policy}}});
  implement(/*max_retries=*/0);
  fail_to_propose(ErrorClass::transient);
  EXPECT_EQ(status(), CardStatus::failed) << "the policy allows it one run";
  expect_unproposed();
  const std::string code = the_card().code;
  const std::string message = the_card().message;
  when(BlockCard{card, "begin again"});
  EXPECT_EQ(the_card().code, "BLOCKED");
  EXPECT_EQ(the_card().message, code + ": " + message + "; blocked by a person: begin again");
  ASSERT_TRUE(failed_proposal(the_card()));
  EXPECT_EQ(failed_proposal(the_card())->code, code);
  EXPECT_EQ(failed_proposal(the_card())->message, message + "; blocked by a person: begin again");
  when(UnblockCard{card, {}});
  EXPECT_FALSE(goes_on_with_run(world, the_card()));
  const bool may_be_uncommitted = code == "NOT_PROPOSED";
  EXPECT_EQ(waits_for_worktree(world, the_card()), may_be_uncommitted);
  EXPECT_EQ(hands_on_worktree(the_card()), may_be_uncommitted);
  EXPECT_EQ(next_to_start(world), may_be_uncommitted ? nullptr : &the_card());
  given({ProjectEvent{WorktreeRemoved{run, "/worktree", "refs/signalbox/rescue"}}});
  EXPECT_EQ(next_to_start(world), &the_card());
}

INSTANTIATE_TEST_SUITE_P(Codes, CardOfADoneWork,
                         ::testing::Values("REPOSITORY_AWAY", "GIT_FAILED", "STORAGE_FAILED",
                                           "TIMEOUT", "PUSH_FAILED"));

// A person mends the worktree, and the work of the agent in it is what it was.
TEST_F(CardTest, WhoseWorktreeHoldsWhatNoCommitShouldGoesOnWithItsRun) {  // A1, A9
  ProjectPut put{"/repositories/site", "main", "", {}};
  put.pipeline.name = "site";
  put.pipeline.stations = {builtin_station(BuiltinStation::create_pr)};
  given({ProjectEvent{put}});
  std::uint8_t latest = 20;  // no two runs have the same id
  for (const std::string code : {"NESTED_REPOSITORY", "FILE_TOO_LARGE", "FILE_REFUSED",
                                 "LEFT_OUT_REFS_FULL", "WORKSPACE_TAMPERED"}) {
    SCOPED_TRACE(code);
    when(start_of(card, run));
    when(DispatchStation{run, uuid_of(++latest), {}});
    CompleteStation failed = end_of("create_pr", the_run().attempt->token, Outcome::failed);
    failed.error_class = ErrorClass::terminal;
    failed.error_code = code;
    failed.error_message = "look at vendor";
    failed.from_executor = true;
    when(failed);
    EXPECT_EQ(status(), CardStatus::blocked);
    EXPECT_EQ(the_card().retry_at_ns, 0) << "a person has to look into it";
    EXPECT_EQ(the_card().code, "NOT_PROPOSED");
    EXPECT_EQ(the_card().message, code + ": look at vendor");
    EXPECT_TRUE(goes_on_with_run(world, the_card()));

    // Whoever wants another run blocks it first: that one gets what is kept of the worktree.
    when(BlockCard{card, "without a repository"});
    when(UnblockCard{card, {}});
    EXPECT_FALSE(goes_on_with_run(world, the_card()));
    EXPECT_TRUE(hands_on_worktree(the_card()));
    EXPECT_EQ(next_to_start(world), nullptr);
    when(NoteWorktree{project, run, "/repositories/site/w", true, "refs/signalbox/rescue/1", ""});
    EXPECT_EQ(next_to_start(world), &the_card());
    run = uuid_of(++latest);
  }
}

// The owner mends the repository's configuration, and the work is what it was.
TEST_F(CardTest, WhoseRepositoryIsWronglySetUpForItsProposalGoesOnWithItsRun) {  // A9
  ProjectPut put{"/repositories/site", "main", "", {}};
  put.pipeline.name = "site";
  put.pipeline.stations = {builtin_station(BuiltinStation::create_pr)};
  given({ProjectEvent{put}});
  when(start_of(card, run));
  when(DispatchStation{run, uuid_of(0x60), {}});
  CompleteStation failed = end_of("create_pr", the_run().attempt->token, Outcome::failed);
  failed.error_class = ErrorClass::config;
  failed.error_code = "REPOSITORY_INVALID";
  failed.error_message = "a wrong size";
  failed.from_executor = true;
  when(failed);
  EXPECT_EQ(status(), CardStatus::blocked);
  EXPECT_EQ(the_card().code, "NOT_PROPOSED");
  EXPECT_TRUE(goes_on_with_run(world, the_card()));
}

}  // namespace
}  // namespace signalbox
