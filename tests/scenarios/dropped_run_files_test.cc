// Files of runs that a retention dropped from the log: nothing says any more where they came from
// but the files themselves. With the real binary.
#include "tests/fixtures/git_repository.h"
#include "tests/scenarios/file_retention_fixture.h"
#include "tests/scenarios/retention_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr const char* plain_pipeline = R"(
name = "plain"
[[station]]
name = "work"
executor = "process"
command = ["sh", "-c", "echo x > file"]
)";

constexpr const char* intake_pipeline = R"(
name = "intake"
[[station]]
name = "intake"
executor = "builtin"
)";

constexpr const char* work_pipeline = R"(
name = "work"
[[station]]
name = "intake"
executor = "builtin"
[[station]]
name = "work"
executor = "process"
command = ["sh", "-c", "echo more >new.txt; git add .; git commit -q -m more"]
)";

constexpr const char* pushed_pipeline = R"(
name = "pushed"
[[station]]
name = "intake"
executor = "builtin"
[[station]]
name = "work"
executor = "process"
command = ["sh", "-c", "echo more >new.txt"]
[[station]]
name = "create_pr"
executor = "builtin"
remote = "origin"
)";

class DroppedRunFilesTest : public WithFileRetention<RetentionTest> {
 protected:
  [[nodiscard]] std::string ended_run_of(const std::string& toml,
                                         const std::vector<std::string>& more = {}) const {
    const std::string run_id = start_run_of(toml, "work", more);
    await_status(run_id, "succeeded");
    return run_id;
  }
  // Drops the ended runs from the log. The server is stopped.
  void drop_runs() const {
    EXPECT_TRUE(retained().at("dropped").as_bool());
    remove_files_under("");
  }
  // Has the next server remove files by age, with more keys of [retention].
  void remove_files_under(const std::string& more) const {
    write_settings("files_older_than = \"1s\"\nfiles_failed_runs = \"1s\"\n" + more);
  }
  [[nodiscard]] fs::path repository() const { return scratch_.path() / "repository"; }
};

TEST_F(DroppedRunFilesTest, ARemovalThatHadBegunIsFinished) {  // A15
  const std::string run_id = ended_run_of(plain_pipeline);
  server_.stop();
  drop_runs();
  // As a kill leaves it after the rename.
  const fs::path job = server_.data() / "jobs" / (run_id + "-work-1");
  const fs::path removing = job.string() + ".removing";
  fs::rename(job, removing);
  fs::remove_all(root_of(run_id));
  server_.start();
  await_gone(removing);
  EXPECT_EQ(kept(run_id), "");
}

// The log doesn't say which branches they had: their names do.
TEST_F(DroppedRunFilesTest, BranchesWithoutWorkGoAndOthersAfterTheAgeThatIsSet) {  // A15
  make_repository(repository(), {{"file.txt", "one\n"}});
  set_identity(repository());
  (void)result(
      {"project", "put", "web", "--repository", repository().string(), "--pipeline", pipeline()});
  const std::string clean = ended_run_of(intake_pipeline, {"--repository", repository().string()});
  const std::string work = ended_run_of(work_pipeline, {"--repository", repository().string()});
  server_.stop();
  drop_runs();
  const auto has_branch_of = [&](const std::string& run_id) {
    return !git(repository(), {"for-each-ref", "refs/heads/signalbox/" + run_id + "-*"})
                .output.empty();
  };
  EXPECT_TRUE(has_branch_of(clean));
  server_.start();
  await_gone(root_of(clean));
  await_gone(root_of(work));
  await([&] {
    round();
    return !has_branch_of(clean);
  });
  EXPECT_TRUE(has_branch_of(work)) << "no age is set";
  const json::object present = status();
  const json::array refs = present.at("measured").at("refs").as_array();
  ASSERT_EQ(refs.size(), 1U) << json::serialize(present);
  EXPECT_EQ(refs.at(0).at("branches"), 1);

  server_.stop();
  remove_files_under("files_branches = \"1s\"\n");
  server_.start();
  await([&] {
    round();
    return !has_branch_of(work);
  });
}

// Nothing says whose run it was, and another server may push to the same remote.
TEST_F(DroppedRunFilesTest, BranchesOfUnknownRunsStayAtTheRemote) {  // A15
  const fs::path remote = scratch_.path() / "remote.git";
  make_repository(repository(), {{"file.txt", "one\n"}});
  make_remote(repository(), remote);
  (void)result({"project", "put", "web", "--repository", repository().string(), "--remote",
                "origin", "--pipeline", pipeline()});
  (void)ended_run_of(plain_pipeline);
  server_.stop();
  drop_runs();
  remove_files_under("files_branches = \"1s\"\n");
  const std::string unknown = "018f0000-0000-7000-8000-000000000001";
  const std::string branch = "refs/heads/signalbox/" + unknown + "-7";
  const std::string rescue = "refs/signalbox/rescue/" + unknown;
  run_git(remote, {"update-ref", branch, "refs/heads/main"});
  run_git(repository(), {"update-ref", rescue, "HEAD"});
  server_.start();
  await([&] {
    rpc("loop.trigger", {{"loop", "file_retention"}});
    await([&] { return is_idle(); });
    return git(repository(), {"for-each-ref", rescue}).output.empty();
  });
  run_git(remote, {"rev-parse", "--verify", branch});
}

// Its marker says whose it was, until the remote has nothing of it.
TEST_F(DroppedRunFilesTest, ABranchOfADroppedRunGoesFromTheRemoteByItsAge) {  // A15
  const fs::path remote = scratch_.path() / "remote.git";
  make_repository(repository(), {{"file.txt", "one\n"}});
  set_identity(repository());
  make_remote(repository(), remote);
  (void)result({"project", "put", "web", "--repository", repository().string(), "--remote",
                "origin", "--pipeline", pipeline()});
  const std::string run_id = ended_run_of(pushed_pipeline, {"--repository", repository().string()});
  const std::string others = "refs/heads/signalbox/018f0000-0000-7000-8000-000000000001-7";
  run_git(remote, {"update-ref", others, "refs/heads/main"});
  const auto has_branch = [&] {
    return !git(remote, {"for-each-ref", "refs/heads/signalbox/" + run_id + "-*"}).output.empty();
  };
  ASSERT_TRUE(has_branch());
  server_.stop();
  drop_runs();
  remove_files_under("files_branches = \"366d\"\n");
  server_.start();
  await_gone(root_of(run_id));
  round();
  round();
  EXPECT_TRUE(has_branch());
  const json::object present = status();
  const json::array refs = present.at("measured").at("refs").as_array();
  ASSERT_EQ(refs.size(), 1U) << json::serialize(present);
  EXPECT_EQ(refs.at(0).at("remote_branches"), 2);

  server_.stop();
  remove_files_under("files_branches = \"1s\"\n");
  server_.start();
  await([&] {
    round();
    return !has_branch();
  });
  run_git(remote, {"rev-parse", "--verify", others});
  await([&] {  // nothing needs it any more
    round();
    return !fs::exists(server_.data() / "removed" / run_id);
  });
}

TEST_F(DroppedRunFilesTest, AWorkspaceThatMayHaveBeenAWorktreeStays) {  // A15
  make_repository(repository(), {{"file.txt", "one\n"}});
  const std::string plain = ended_run_of(plain_pipeline);
  const std::string clean = ended_run_of(intake_pipeline, {"--repository", repository().string()});
  const std::string known = ended_run_of(intake_pipeline, {"--repository", repository().string()});
  const std::string unknown =
      ended_run_of(intake_pipeline, {"--repository", repository().string()});
  server_.stop();
  drop_runs();
  fs::remove(root_of(known) / "workspace" / ".git");
  fs::remove(root_of(unknown) / "workspace" / ".git");
  fs::remove_all(server_.data() / "workspaces" / unknown);
  fs::remove(root_of(unknown) / "run_config.json");
  server_.start();
  await_gone(root_of(plain));
  await_gone(root_of(clean));
  EXPECT_EQ(await_kept(known), "its .git is gone");
  EXPECT_EQ(await_kept(unknown), "it may be a worktree whose .git is gone");
  for (const std::string& each : {known, unknown}) {
    EXPECT_EQ(content_of(root_of(each) / "workspace" / "file.txt"), "one\n");
  }
}

}  // namespace
}  // namespace signalbox
