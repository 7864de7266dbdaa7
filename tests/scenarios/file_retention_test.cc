// The files of ended runs go after an age, by themselves; what somebody still needs stays and is
// named. All with the real binary, git and processes.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/fixtures/git_repository.h"
#include "tests/scenarios/child_process.h"
#include "tests/scenarios/file_retention_fixture.h"
#include "tests/scenarios/held_calls.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr const char* job_pipeline = R"(
name = "job"
[[station]]
name = "work"
executor = "process"
command = ["sh", "-c", "echo result > $SIGNALBOX_ARTIFACTS_DIR/a.txt; mkdir -p deep/er; echo x > deep/er/file"]
)";

// Leaves a directory that even its owner may not change.
constexpr const char* read_only_pipeline = R"(
name = "read_only"
[[station]]
name = "work"
executor = "process"
command = ["sh", "-c", "mkdir -p deep/er; echo x > deep/er/file; chmod 0500 deep/er; chmod 0 deep"]
)";

constexpr const char* failing_pipeline = R"(
name = "failing"
[[station]]
name = "work"
executor = "process"
command = ["sh", "-c", "echo x > file; exit 1"]
[station.retry]
max_retries = 0
)";

// Returns the pipeline of a run that does `script` in a worktree.
std::string worktree_pipeline(const std::string& script) {
  return "name = \"worktree\"\n[[station]]\nname = \"intake\"\nexecutor = \"builtin\"\n"
         "[[station]]\nname = \"work\"\nexecutor = \"process\"\ncommand = [\"sh\", \"-c\", \"" +
         script + "\"]\n";
}

class FileRetentionTest : public WithFileRetention<CliTest> {
 protected:
  // Starts the server anew with these keys of [retention].
  void serve_under(const std::string& keys) {
    server_.stop();
    write_settings(keys);
    server_.start();
  }
  void serve_under_a_second() {
    serve_under("files_older_than = \"1s\"\nfiles_failed_runs = \"1s\"\n");
  }

  [[nodiscard]] std::size_t jobs_of(const std::string& run_id) const {
    std::size_t count = 0;
    for (const auto& each : fs::directory_iterator(server_.data() / "jobs")) {
      count += each.path().filename().string().starts_with(run_id) ? 1 : 0;
    }
    return count;
  }
  [[nodiscard]] fs::path marker_of(const std::string& run_id) const {
    return server_.data() / "removed" / run_id;
  }

  [[nodiscard]] std::string ended_run(const std::string& toml,
                                      const std::vector<std::string>& more = {}) const {
    const std::string run_id = start_run_of(toml, "work", more);
    await([&] { return run(run_id).contains("ended_at"); });
    return run_id;
  }
  [[nodiscard]] fs::path repository() const { return scratch_.path() / "repository"; }
  // Runs `script` in a worktree of the repository, until the run ended.
  [[nodiscard]] std::string worktree_run(const std::string& script) const {
    const std::string run_id =
        ended_run(worktree_pipeline(script), {"--repository", repository().string()});
    EXPECT_EQ(text(run(run_id), "status"), "succeeded");
    return run_id;
  }
  [[nodiscard]] std::string branch_of_run(const std::string& run_id) const {
    return run_git(repository(), {"for-each-ref", "--format=%(refname)",
                                  "refs/heads/signalbox/" + run_id + "-*"});
  }
};

TEST_F(FileRetentionTest, FilesOfOldRunsGoAndOthersStay) {  // A15
  const std::string old = ended_run(read_only_pipeline);
  const std::string failed = ended_run(failing_pipeline);
  const std::string open = start_run("of an outside worker");
  serve_under("files_older_than = \"1s\"\nfiles_failed_runs = \"1h\"\n");
  EXPECT_TRUE(fs::exists(root_of(old)));
  await_gone(root_of(old));
  EXPECT_EQ(jobs_of(old), 0U);
  EXPECT_TRUE(fs::exists(marker_of(old)));
  EXPECT_TRUE(fs::exists(root_of(failed)));
  EXPECT_EQ(jobs_of(failed), 1U);
  EXPECT_FALSE(fs::exists(marker_of(failed)));
  EXPECT_EQ(text(run(open), "status"), "queued");
  // What the log has is answered as before, and the failed run can be retried.
  EXPECT_EQ(text(run(old), "status"), "succeeded");
  EXPECT_EQ(run(old).at("files_removed"), true);
  EXPECT_FALSE(run(failed).contains("files_removed"));
  const Output listed = server_.cli({"artifacts", "list", old});
  EXPECT_EQ(listed.exit_code, 0);
  EXPECT_NE(listed.out.find("removed by retention"), std::string::npos) << listed.out;
  EXPECT_EQ(server_.cli({"run", "retry", failed}).exit_code, 0);
  const json::value measured = status().at("measured");
  EXPECT_EQ(measured.at("stored").as_array().size(), 4U);
  EXPECT_EQ(text(measured.at("stored").at(0).as_object(), "folder"), "runs");
}

TEST_F(FileRetentionTest, AFailedRunWithoutFilesIsntRetried) {  // A15
  const std::string failed = ended_run(failing_pipeline);
  serve_under_a_second();
  await_gone(root_of(failed));
  const Output retried = server_.cli({"run", "retry", failed, "--json"});
  EXPECT_EQ(retried.exit_code, 1);
  EXPECT_EQ(code_of(retried), "FILES_REMOVED");
}

// Its artifacts go all the same, and what needs them isn't done without them.
TEST_F(FileRetentionTest, AFailedRunThatNeverHadFilesIsntRetriedWithoutItsArtifacts) {  // A15
  const std::string failed = start_run_of(
      "name = \"outside\"\n[[station]]\nname = \"first\"\n[[station]]\nname = \"second\"\n"
      "[station.retry]\nmax_retries = 0\n",
      "work");
  const auto complete = [&](const std::string& station, const json::object& more) {
    const auto claim = rpc("station.claim", {{"worker", "w"}, {"run_id", failed}}).at("claim");
    json::object params{{"run_id", failed}, {"station", station}, {"token", claim.at("token")}};
    params.insert(more.begin(), more.end());
    rpc("station.complete", params);
  };
  complete("first", {{"outcome", "succeeded"},
                     {"artifacts", {{{"name", "a.txt"}, {"content", "needed later"}}}}});
  complete("second", {{"outcome", "failed"}, {"error_class", "terminal"}});
  await_status(failed, "failed");
  const json::object artifact = rpc("run.artifact", {{"run_id", failed}, {"name", "a.txt"}});
  const std::string path = text(artifact, "path");
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(48));
  serve_under_a_second();
  await_gone(path);
  const Output retried = server_.cli({"run", "retry", failed, "--json"});
  EXPECT_EQ(retried.exit_code, 1);
  EXPECT_EQ(code_of(retried), "FILES_REMOVED");
}

TEST_F(FileRetentionTest, AFailedRunWhoseWorkIsKeptCanBeRetried) {  // A15
  make_repository(repository(), {{"file.txt", "one\n"}});
  const std::string failed = ended_run(
      worktree_pipeline("echo more > new.txt; exit 1") + "[station.retry]\nmax_retries = 0\n",
      {"--repository", repository().string()});
  ASSERT_EQ(text(run(failed), "status"), "failed");
  serve_under_a_second();
  EXPECT_EQ(await_kept(failed, "workspace"), "it has uncommitted work");
  round();
  EXPECT_EQ(kept(failed, "workspace"), "it has uncommitted work");
  EXPECT_EQ(jobs_of(failed), 2U);
  EXPECT_FALSE(fs::exists(marker_of(failed)));
  const Output retried = server_.cli({"run", "retry", failed, "--json"});
  EXPECT_EQ(retried.exit_code, 0) << retried.out << retried.err;
}

TEST_F(FileRetentionTest, AnArtifactGoesWithItsLastRun) {  // A15
  const std::string old = ended_run(job_pipeline);
  serve_under("files_older_than = \"1s\"\nfiles_failed_runs = \"1h\"\n");
  const json::object params{{"run_id", old}, {"name", "a.txt"}};
  const std::string path = text(rpc("run.artifact", params), "path");
  await_gone(root_of(old));
  EXPECT_TRUE(fs::exists(path)) << "stored less than a day ago";
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(48));
  await_gone(path);
  EXPECT_EQ(code_of(server_.cli({"rpc", "run.artifact", json::serialize(params), "--json"})),
            "FILES_REMOVED");
  // The same content is stored anew.
  (void)ended_run(job_pipeline);
  EXPECT_TRUE(fs::exists(path));
}

TEST_F(FileRetentionTest, AWorktreeWithWorkStaysAndIsNamed) {  // A15
  make_repository(repository(), {{"file.txt", "one\n"}});
  set_identity(repository());
  const std::string clean = worktree_run("true");
  const std::string dirty = worktree_run("echo more > new.txt");
  const std::string committed =
      worktree_run("echo more > kept.txt; git add -A; git commit -q -m kept");
  serve_under_a_second();
  EXPECT_EQ(await_kept(dirty, "workspace"), "it has uncommitted work");
  EXPECT_TRUE(fs::exists(root_of(dirty) / "workspace" / "new.txt"));
  EXPECT_FALSE(branch_of_run(dirty).empty());
  // Only the run root stays for the work in it.
  EXPECT_EQ(jobs_of(dirty), 0U);
  EXPECT_TRUE(fs::exists(marker_of(dirty)));
  // A clean worktree goes, with a branch that holds nothing beyond its base.
  await_gone(root_of(clean));
  EXPECT_EQ(branch_of_run(clean), "");
  // A branch with work stays until the work is merged.
  EXPECT_EQ(await_kept(committed, "branch signalbox/"), "it has commits that no other ref has");
  EXPECT_FALSE(fs::exists(root_of(committed)));
  const std::string branch = branch_of_run(committed);
  ASSERT_FALSE(branch.empty());
  run_git(repository(), {"merge", "--quiet", "--ff-only", branch});
  await([&] {
    round();
    return branch_of_run(committed).empty();
  });
  EXPECT_EQ(kept(committed, ""), "");
  EXPECT_NE(server_.cli({"status"}).out.find("it has uncommitted work"), std::string::npos);
  // Once the work is saved, the rest goes.
  run_git(root_of(dirty) / "workspace", {"clean", "--quiet", "-f"});
  await_gone(root_of(dirty));
  EXPECT_EQ(branch_of_run(dirty), "");
}

// The list of them would go with the rest, so the log has the first names.
TEST_F(FileRetentionTest, IgnoredFilesAreNamedInTheLog) {  // A1, A15
  make_repository(repository(), {{"file.txt", "one\n"}, {".gitignore", "*.log\n"}});
  const fs::path named = scratch_.path() / "named";
  const std::string run_id =
      ended_run(worktree_pipeline("echo noise > build.log"),
                {"--repository", repository().string(), "--run-root", named.string()});
  serve_under_a_second();
  await_gone(named / "workspace");
  const std::string line =
      "1 ignored files and directories went with run " + run_id + ": build.log";
  ASSERT_TRUE(server_.logs(line));
  for (const auto& each : fs::directory_iterator(named)) {
    EXPECT_FALSE(each.path().filename().string().starts_with("left_out")) << each.path();
  }
}

// A run of which a part has to stay keeps no artifacts for ever.
TEST_F(FileRetentionTest, ABranchWithWorkKeepsNothingElse) {  // A15
  make_repository(repository(), {{"file.txt", "one\n"}});
  set_identity(repository());
  const std::string committed = worktree_run(
      "echo result > $SIGNALBOX_ARTIFACTS_DIR/a.txt; echo more > kept.txt; git add -A; "
      "git commit -q -m kept");
  serve_under_a_second();
  const std::string path =
      text(rpc("run.artifact", {{"run_id", committed}, {"name", "a.txt"}}), "path");
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(48));
  await_gone(path);
  EXPECT_FALSE(fs::exists(root_of(committed)));
  EXPECT_EQ(jobs_of(committed), 0U);
  // The branch is named in each round, also by the plan.
  round();
  EXPECT_EQ(kept(committed, "branch signalbox/"), "it has commits that no other ref has");
  const json::object plan = result({"loop", "plan"});
  EXPECT_EQ(plan.at("runs").as_array().size(), 0U);
  ASSERT_EQ(plan.at("kept").as_array().size(), 1U);
  EXPECT_EQ(text(plan.at("kept").at(0).as_object(), "reason"),
            "it has commits that no other ref has");
  EXPECT_FALSE(branch_of_run(committed).empty());
}

// What nothing else has stays, also if git can't tell: A1 and A15 together.
TEST_F(FileRetentionTest, AWorkspaceWithoutGitAndARepositoryBesideItStay) {  // A15
  make_repository(repository(), {{"file.txt", "one\n"}});
  const std::string without = worktree_run("true");
  const std::string beside = worktree_run("true");
  const std::string inside = ended_run(job_pipeline);
  fs::remove(root_of(without) / "workspace" / ".git");
  make_repository(root_of(beside) / "fix", {{"file.txt", "two\n"}});
  make_repository(root_of(inside) / "workspace" / "project", {{"file.txt", "three\n"}});
  serve_under_a_second();
  EXPECT_EQ(await_kept(without, "workspace"), "its .git is gone");
  EXPECT_EQ(await_kept(beside, "fix"), "it is a git repository of its own");
  EXPECT_EQ(await_kept(inside, "project"), "it is a git repository of its own");
  EXPECT_EQ(content_of(root_of(without) / "workspace" / "file.txt"), "one\n");
  EXPECT_EQ(content_of(root_of(beside) / "fix" / "file.txt"), "two\n");
  EXPECT_EQ(content_of(root_of(inside) / "workspace" / "project" / "file.txt"), "three\n");
}

TEST_F(FileRetentionTest, ThePlanRemovesNothing) {  // A15
  make_repository(repository(), {{"file.txt", "one\n"}});
  const std::string old = ended_run(job_pipeline);
  const std::string clean = worktree_run("true");
  const std::string dirty = worktree_run("echo more > new.txt");
  // As for a run of an earlier version: the plan looks at the worktree all the same.
  fs::remove_all(server_.data() / "workspaces" / dirty);
  serve_under_a_second();
  json::object plan;
  await([&] {
    plan = rpc("loop.plan_files");
    return plan.at("runs").as_array().size() == 3;
  });
  // Of the run with work only the job directories would go, and of the clean one all of it.
  ASSERT_EQ(plan.at("kept").as_array().size(), 1U) << json::serialize(plan);
  EXPECT_EQ(text(plan.at("kept").at(0).as_object(), "run_id"), dirty);
  EXPECT_EQ(text(plan.at("kept").at(0).as_object(), "reason"), "it has uncommitted work");
  EXPECT_GT(plan.at("bytes_removed").to_number<std::int64_t>(), 0);
  for (const std::string& each : {old, clean, dirty}) {
    EXPECT_TRUE(fs::exists(root_of(each))) << each;
    EXPECT_GE(jobs_of(each), 1U) << each;
    EXPECT_FALSE(fs::exists(marker_of(each))) << each;
  }
  EXPECT_FALSE(branch_of_run(clean).empty());
  EXPECT_NE(server_.cli({"loop", "plan"}).out.find("runs: 3, artifacts: 0"), std::string::npos);
  // The removal does what the plan says.
  await_gone(root_of(clean));
  EXPECT_EQ(kept(dirty, "workspace"), "it has uncommitted work");
  EXPECT_EQ(content_of(root_of(dirty) / "workspace" / "new.txt"), "more\n");
  EXPECT_EQ(branch_of_run(clean), "");
}

TEST_F(FileRetentionTest, WithoutAPolicyThereIsNoPlan) {  // A15
  EXPECT_EQ(code_of(server_.cli({"loop", "plan", "--json"})), "LOOP_NOT_FOUND");
  EXPECT_FALSE(result({"status"}).contains("file_retention"));
}

TEST_F(FileRetentionTest, ALinkInThePlaceOfADirectoryIsntFollowed) {  // A15
  const std::string run_id = ended_run(job_pipeline);
  const fs::path elsewhere = scratch_.path() / "elsewhere";
  fs::rename(root_of(run_id), elsewhere);
  fs::create_directory_symlink(elsewhere, root_of(run_id));
  // A link within a job's directory is removed; what it points to isn't.
  const fs::path jobs = server_.data() / "jobs";
  for (const auto& each : fs::directory_iterator(jobs)) {
    fs::create_directory_symlink(elsewhere, each.path() / "link");
  }
  serve_under_a_second();
  EXPECT_EQ(await_kept(run_id, root_of(run_id).string()), "it is not a directory");
  fs::remove(root_of(run_id));
  await_gone(jobs / (run_id + "-work-1"));
  EXPECT_TRUE(fs::exists(elsewhere / "workspace" / "deep" / "er" / "file"));
  EXPECT_TRUE(fs::exists(elsewhere / "manifest.json"));
}

TEST_F(FileRetentionTest, InARootThatWasNamedOnlyOurFilesGo) {  // A15
  const fs::path named = scratch_.path() / "named";
  fs::create_directory(named);
  write_text(named / "mine.txt", "mine\n");
  const std::string run_id = ended_run(job_pipeline, {"--run-root", named.string()});
  // Whatever is written later would be written over the change.
  await([&] {
    const json::object listed = result({"artifacts", "list", run_id});
    return std::ranges::all_of(listed.at("files").as_array(),
                               [](const json::value& file) { return file.at("found") == "same"; });
  });
  write_text(named / "run_config.json", "changed\n");
  serve_under_a_second();
  await_gone(named / "manifest.json");
  EXPECT_EQ(jobs_of(run_id), 0U);
  EXPECT_TRUE(fs::exists(named / "mine.txt"));
  EXPECT_TRUE(fs::exists(named / "run_config.json"));
  EXPECT_TRUE(fs::exists(named / "workspace" / "deep" / "er" / "file"));
}

TEST_F(FileRetentionTest, ARunRootWithAHeldLockStays) {  // A15
  const std::string run_id = ended_run(job_pipeline);
  serve_under_a_second();
  const json::object lock = result({"lock", "acquire", "deploy", "--owner", "me", "--lease-ms",
                                    "3600000", "--run-root", root_of(run_id).string()});
  EXPECT_NE(await_kept(run_id, root_of(run_id).string()).find("deploy"), std::string::npos);
  EXPECT_TRUE(fs::exists(root_of(run_id)));
  result({"lock", "release", "deploy", "--token", json::serialize(lock.at("token"))});
  await_gone(root_of(run_id));
}

// Kills the server at the n-th removal of a file, for several n: the next rounds remove the rest.
TEST_F(FileRetentionTest, KilledAnywhereTheNextRoundFinishes) {  // A15
  for (const int removal : {1, 3, 7}) {
    SCOPED_TRACE(removal);
    const std::string run_id = ended_run(job_pipeline);
    serve_under_a_second();
    await([&] { return rpc("loop.plan_files").at("runs").as_array().size() == 1; });
    const pid_t tracer = hold_calls(server_.pid(), "unlinkat",
                                    "signal=KILL:when=" + std::to_string(removal), scratch_.path());
    (void)server_.cli({"loop", "trigger", "file_retention"});
    await([&] { return !server_.running(); });
    wait_for_exit(tracer);
    server_.kill();
    server_.start();
    // Nothing goes without a marker.
    EXPECT_TRUE(fs::exists(marker_of(run_id)) || fs::exists(root_of(run_id)));
    await([&] {
      round();
      return !fs::exists(root_of(run_id)) && jobs_of(run_id) == 0 &&
             !fs::exists(root_of(run_id).string() + ".removing");
    });
    EXPECT_EQ(text(run(run_id), "status"), "succeeded");
  }
  server_.stop();
  EXPECT_EQ(server_.cli({"replay", "--verify"}).exit_code, 0);
}

}  // namespace
}  // namespace signalbox
