// Tests that all commits of a run's branch that create_pr leaves out are kept, however often.
#include "server/git/left_out_refs.h"

#include <boost/json/parse.hpp>

#include "domain/limits.h"
#include "server/git/unsaved_work.h"
#include "server/limits.h"
#include "tests/server/agent_work_fixture.h"

namespace signalbox {
namespace {

class LeftOutRefsTest : public WorkOfAnAgent {
 protected:
  // Commits the file on the run's branch, and leaves the branch for one that has none of it.
  JobResult leave(const Job& job, const std::string& file, int attempt) {
    run("checkout --quiet " + branch_of_run(job), workspace_of(job));
    write_text(workspace_of(job) / file, "left\n");
    commit_all(workspace_of(job), file);
    run("checkout --quiet theirs", workspace_of(job));
    write_text(workspace_of(job) / ("new-" + file), "new\n");
    return end_of(next(job, "create_pr", attempt));
  }
};

TEST_F(LeftOutRefsTest, EachTipHasARefOfItsOwnThatStays) {  // A1
  run("branch theirs", repository);
  const Job intake = begun();
  const std::string first = rescue_ref_of(to_string(intake.run_id)) + "-branch";
  const std::string second = first + "-2";
  ASSERT_EQ(leave(intake, "one.txt", 1).outcome, Outcome::succeeded);
  const std::string kept = run("rev-parse " + first, repository);
  const JobResult result = leave(intake, "two.txt", 2);
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(run("rev-parse " + first, repository), kept);
  EXPECT_EQ(run("show " + first + ":one.txt", repository), "left");
  EXPECT_EQ(run("show " + second + ":two.txt", repository), "left");
  EXPECT_NE(result.result.summary.find(first + "."), std::string::npos) << result.result.summary;
  EXPECT_NE(result.result.summary.find(second + "."), std::string::npos) << result.result.summary;

  const JobResult again = end_of(next(intake, "create_pr", 3));
  EXPECT_NE(again.result.summary.find(second + "."), std::string::npos) << again.result.summary;
  EXPECT_EQ(left_out_refs(repository, {}, to_string(intake.run_id))->size(), 2U);
}

TEST_F(LeftOutRefsTest, ACommitThatOneOfThemHasGetsNone) {  // A1
  const std::string id = to_string(begun().run_id);
  const std::string before = run("rev-parse HEAD", repository);
  commit_all(repository, "second");
  const std::string commit = run("rev-parse HEAD", repository);
  ASSERT_TRUE(keep_left_out(repository, {}, id, commit));
  ASSERT_TRUE(keep_left_out(repository, {}, id, commit));
  ASSERT_EQ(keep_left_out(repository, {}, id, before).value(), KeptCommit::by_ref);
  ASSERT_EQ(left_out_refs(repository, {}, id)->size(), 1U);
  EXPECT_EQ(left_out_refs(repository, {}, id)->front().commit, commit);
}

TEST_F(LeftOutRefsTest, AreBoundedAndNothingIsLostBeyond) {  // A1, P8
  run("branch theirs", repository);
  const Job intake = begun();
  const std::string id = to_string(intake.run_id);
  const std::string first = rescue_ref_of(id) + "-branch";
  const std::string base = run("rev-parse HEAD", repository);
  for (std::size_t number = 1; number < limits::left_out_refs_max; ++number) {
    run("update-ref " + first + (number == 1 ? "" : "-" + std::to_string(number)) + " " + base,
        repository);
  }
  const JobResult last = leave(intake, "one.txt", 1);
  ASSERT_EQ(last.outcome, Outcome::succeeded) << last.failure.message;
  EXPECT_EQ(run("show " + first + "-100:one.txt", repository), "left");

  const JobResult full = leave(intake, "two.txt", 2);
  EXPECT_EQ(full.failure.code, "LEFT_OUT_REFS_FULL") << full.failure.message;
  EXPECT_EQ(full.failure.error_class, ErrorClass::config);
  EXPECT_EQ(run("show " + branch_of_run(intake) + ":two.txt", repository), "left");
  EXPECT_EQ(content_of(workspace_of(intake) / "new-two.txt"), "new\n");
  const std::string command = "for-each-ref '" + first + "*'`";
  EXPECT_NE(full.failure.message.find(command), std::string::npos) << full.failure.message;
  run("update-ref -d " + first, repository);  // as the message says
  const JobResult result = end_of(next(intake, "create_pr", 3));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(run("show " + first + "-101:two.txt", repository), "left");
}

// An agent can make any refs that begin like those of the run.
TEST_F(LeftOutRefsTest, RefsThatOnlyLookAlikeHideNone) {  // A1, P8
  run("branch theirs", repository);
  const Job intake = begun();
  const std::string first = rescue_ref_of(to_string(intake.run_id)) + "-branch";
  const std::string base = run("rev-parse HEAD", repository);
  for (std::size_t number = 0; number <= limits::left_out_refs_max; ++number) {
    const std::string digits = std::to_string(1'000 + number);
    for (const char* alike : {"+", "-0", "-1x", "-9999999999"}) {
      run("update-ref " + first + alike + digits + " " + base, repository);
    }
  }
  ASSERT_EQ(leave(intake, "one.txt", 1).outcome, Outcome::succeeded);
  const JobResult second = leave(intake, "two.txt", 2);
  ASSERT_EQ(second.outcome, Outcome::succeeded) << second.failure.message;
  EXPECT_EQ(run("show " + first + ":one.txt", repository), "left");
  EXPECT_EQ(run("show " + first + "-2:two.txt", repository), "left");
  EXPECT_EQ(left_out_refs(repository, {}, to_string(intake.run_id))->size(), 2U);
}

TEST_F(LeftOutRefsTest, AfterTheHighestNumberComesAFreeOne) {  // A1, P8
  const std::string id = to_string(begun().run_id);
  const std::string first = rescue_ref_of(id) + "-branch";
  for (const char* taken : {"", "-999999999"})
    run("update-ref " + first + taken + " HEAD", repository);
  commit_all(repository, "second");
  const std::string commit = run("rev-parse HEAD", repository);
  EXPECT_EQ(keep_left_out(repository, {}, id, commit).value(), KeptCommit::by_ref);
  EXPECT_EQ(run("rev-parse " + first + "-2", repository), commit);
}

TEST_F(LeftOutRefsTest, AFewAreNamedAndTheCommandForTheOthers) {  // A1, P8
  run("branch theirs", repository);
  const Job intake = begun();
  JobResult result;
  for (int attempt = 1; attempt <= 7; ++attempt) {
    result = leave(intake, "file" + std::to_string(attempt) + ".txt", attempt);
    ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  }
  const std::string first = rescue_ref_of(to_string(intake.run_id)) + "-branch";
  const std::string& summary = result.result.summary;
  EXPECT_NE(summary.find(first + "-5."), std::string::npos) << summary;
  EXPECT_EQ(summary.find(first + "-6"), std::string::npos) << summary;
  EXPECT_NE(summary.find("2 more refs, which `git -C "), std::string::npos) << summary;
  const auto metadata = boost::json::parse(result.result.metadata).as_object();
  EXPECT_EQ(metadata.at("left_out").as_array().size(), 6U) << result.result.metadata;
}

TEST_F(LeftOutRefsTest, CommitsOnABranchOfTheAgentsAreNamed) {  // A1
  const Job job = begun();
  const std::filesystem::path workspace = workspace_of(job);
  const auto commit_on = [&](const std::string& how, const std::string& file) {
    run("checkout --quiet " + how, workspace);
    write_text(workspace / file, "left\n");
    commit_all(workspace, file);
    std::string id = run("rev-parse --short=12 HEAD", workspace);
    run("checkout --quiet " + branch_of_run(job), workspace);
    return id;
  };
  const std::string on_branch = commit_on("-b idea", "idea.txt");
  const std::string on_none = commit_on("--detach", "draft.txt");
  write_text(workspace / "file.txt", "two\n");
  const JobResult result = end_of(next(job, "create_pr"));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  const std::string request = artifact_text(site, result, "pull_request.md");
  for (const std::string& text : {std::string(result.result.summary), request}) {
    EXPECT_NE(text.find("up to " + on_branch +
                        ", at which the worktree was before; they are in "
                        "refs/heads/idea."),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("up to " + on_none), std::string::npos) << text;
    EXPECT_NE(text.find(rescue_ref_of(to_string(job.run_id)) + " keeps them"), std::string::npos)
        << text;
  }
  const RemovalOutcome outcome = remove_worktree(removal_of(job));
  EXPECT_EQ(outcome.rescue_ref, rescue_ref_of(to_string(job.run_id))) << outcome.reason;
}

TEST_F(LeftOutRefsTest, MetadataSaysThatThereIsMoreThanFits) {  // A1, P8
  write_text(repository / ".gitignore", "*.log\n");
  commit_all(repository, "ignore");
  const Job intake = begun();
  const std::filesystem::path workspace = workspace_of(intake);
  for (const char letter : {'a', 'b', 'c', 'd', 'e', 'f'}) {
    const std::string branch = letter + std::string(150, '"');  // each is two characters in JSON
    run("checkout --quiet -b " + branch + "1", workspace);
    commit_all(workspace, branch);
    run("branch " + branch + "2", workspace);
    run("branch " + branch + "3", workspace);
    run("checkout --quiet " + branch_of_run(intake), workspace);
  }
  write_text(workspace / "file.txt", "two\n");
  write_text(workspace / (std::string(200, '"') + ".log"), "noise\n");
  const JobResult result = end_of(next(intake, "create_pr"));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_LE(result.result.metadata.size(), limits::metadata_bytes_max);
  const auto metadata = boost::json::parse(result.result.metadata).as_object();
  EXPECT_EQ(
      metadata.at("left_out").as_array().back().as_string(),
      "More is left out: `signalbox run get " + to_string(intake.run_id) + "` has all of it.");
}

// Others read the pull request in a browser.
TEST_F(LeftOutRefsTest, NamesOfFilesAreCodeInThePullRequest) {  // A1, G16
  write_text(repository / ".gitignore", "*.log\n");
  commit_all(repository, "ignore");
  const Job job = begun();
  write_text(workspace_of(job) / "file.txt", "two\n");
  write_text(workspace_of(job) / "a`<img>\x1b[2J.log", "noise\n");
  write_text(workspace_of(job) / (std::string(240, 'n') + ".log"), "noise\n");
  const JobResult result = end_of(next(job, "create_pr"));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  const std::string text = artifact_text(site, result, "pull_request.md");
  EXPECT_NE(text.find("- ``a`<img>?[2J.log``\n"), std::string::npos) << text;
  EXPECT_NE(text.find("- `…nnn"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
  EXPECT_EQ(result.result.summary.find('\x1b'), std::string::npos);
}

// Whoever approves the work reads the summary, of which the end is cut.
TEST_F(LeftOutRefsTest, TheyDoNotPushChangedChecksOutOfTheSummary) {  // A1, A7
  run("branch theirs", repository);
  const Job intake = begun();
  const std::filesystem::path workspace = workspace_of(intake);
  for (const char number : std::string("12345")) {
    run("checkout --quiet --detach theirs", workspace);
    write_text(workspace / "draft.txt", std::string("draft ") + number + "\n");
    commit_all(workspace, "draft");
    for (const char name : std::string("abc")) {
      run("branch " + std::string(185, name) + number, workspace);
    }
  }
  run("checkout --quiet --detach theirs", workspace);
  write_text(workspace / "other.txt", "other\n");
  commit_all(workspace, "other");
  const std::string first = rescue_ref_of(to_string(intake.run_id)) + "-branch";
  for (const char* end : {"", "-2", "-3", "-4", "-5"}) {
    run("update-ref " + first + end + " HEAD", workspace);
  }
  run("checkout --quiet " + branch_of_run(intake), workspace);
  std::filesystem::create_directories(workspace / ".github/workflows");
  write_text(workspace / ".github/workflows/ci.yml", "on: push\n");
  const JobResult result = end_of(next(intake, "create_pr"));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  const std::string& summary = result.result.summary;
  ASSERT_NE(summary.find("[cut: "), std::string::npos) << summary;
  EXPECT_NE(summary.find("It changes files that decide how work is checked: "
                         ".github/workflows/ci.yml.\n"),
            std::string::npos)
      << summary;
}

}  // namespace
}  // namespace signalbox
