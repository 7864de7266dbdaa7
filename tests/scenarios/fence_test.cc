// The pre-push hook, with real pushes to a bare remote from worktrees of runs that are open, have
// ended, or whose attempt was superseded.
#include <gtest/gtest.h>

#include "tests/fixtures/git_repository.h"
#include "tests/scenarios/cli_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// Intake makes the workspace; an outside worker does the station after it.
constexpr const char* fenced_pipeline = R"(
name = "fenced"
[[station]]
name = "intake"
executor = "builtin"
[[station]]
name = "implement"
[station.retry]
max_retries = 3
backoff = "0s"
)";

class Fence : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    std::ofstream(pipeline()) << fenced_pipeline;
    make_repository(repository(), {{"file.txt", "one\n"}});
    ASSERT_EQ(shell("git init --quiet --bare remote.git && git -C repository remote add origin " +
                    (scratch_.path() / "remote.git").string())
                  .exit_code,
              0);
  }
  [[nodiscard]] fs::path repository() const { return scratch_.path() / "repository"; }
  Output install(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"fence", "install", repository().string()});
    return server_.cli(std::move(more));
  }

  struct Work {
    std::string run_id;
    fs::path worktree;
    json::object claim;
  };
  // Blocks until intake has made the workspace, and claims the next station. Only one run at a time
  // may be ready for it.
  json::object claim_of(const std::string& run_id) const {
    const json::object claimed = result(
        {"station", "claim", "--worker", "w", "--station", "implement", "--wait-ms", "30000"});
    json::object claim = claimed.at("claim").as_object();
    EXPECT_EQ(text(claim, "run_id"), run_id);
    return claim;
  }
  Work start() const {
    Work work;
    work.run_id = text(result({"run", "start", "greet", "--pipeline", pipeline(), "--repository",
                               repository().string()}),
                       "run_id");
    work.claim = claim_of(work.run_id);
    work.worktree = server_.data() / "runs" / work.run_id / "workspace";
    return work;
  }
  // Pushes from the run's worktree, as the attempt of the claim or as a person.
  Output push(const Work& work, bool as_attempt, const std::string& to = "pushed") const {
    std::vector<std::string> environment;
    if (as_attempt) {
      environment = {"SIGNALBOX_RUN_ID=" + work.run_id,
                     "SIGNALBOX_SPAN_ID=" + text(work.claim, "span_id"),
                     "SIGNALBOX_TOKEN=" + json::serialize(work.claim.at("token"))};
    }
    return shell(
        "cd '" + work.worktree.string() + "' && git push --quiet origin HEAD:refs/heads/" + to,
        environment);
  }
  bool remote_has(const std::string& branch) const {
    return shell("git -C remote.git show-ref --verify --quiet refs/heads/" + branch).exit_code == 0;
  }
};

TEST_F(Fence, OnlyTheAttemptUnderWayMayPush) {  // H12
  ASSERT_EQ(install().exit_code, 0);
  const Work work = start();
  Output pushed = push(work, true, "first");
  EXPECT_EQ(pushed.exit_code, 0) << pushed.err;
  EXPECT_TRUE(remote_has("first"));
  pushed = push(work, false, "person");
  EXPECT_EQ(pushed.exit_code, 0) << pushed.err;

  ASSERT_EQ(server_
                .cli({"station", "complete", "--run", work.run_id, "--station", "implement",
                      "--token", json::serialize(work.claim.at("token")), "--outcome", "failed",
                      "--error-class", "transient"})
                .exit_code,
            0);
  pushed = push(work, true, "between");
  EXPECT_NE(pushed.exit_code, 0);
  EXPECT_NE(pushed.err.find("no attempt is in progress"), std::string::npos) << pushed.err;
  Work second = work;
  second.claim = claim_of(work.run_id);
  pushed = push(work, true, "superseded");
  EXPECT_NE(pushed.exit_code, 0);
  EXPECT_NE(pushed.err.find("the push is refused: the asking attempt has ended"), std::string::npos)
      << pushed.err;
  EXPECT_NE(pushed.err.find("signalbox run get " + work.run_id), std::string::npos) << pushed.err;
  EXPECT_FALSE(remote_has("superseded"));
  pushed = push(second, true, "second");
  EXPECT_EQ(pushed.exit_code, 0) << pushed.err;

  ASSERT_EQ(server_.cli({"run", "cancel", work.run_id}).exit_code, 0);
  pushed = push(second, false, "zombie");
  EXPECT_NE(pushed.exit_code, 0) << "nor a person, whose run has ended";
  EXPECT_NE(pushed.err.find("has ended: canceled"), std::string::npos) << pushed.err;
  EXPECT_FALSE(remote_has("zombie"));
}

// The span of the attempt under way is in files that an earlier attempt can read, too.
TEST_F(Fence, TheSpanAndTheTokenMustBothBeTheCurrentOnes) {  // G12
  ASSERT_EQ(install().exit_code, 0);
  const Work work = start();
  ASSERT_EQ(server_
                .cli({"station", "complete", "--run", work.run_id, "--station", "implement",
                      "--token", json::serialize(work.claim.at("token")), "--outcome", "failed",
                      "--error-class", "transient"})
                .exit_code,
            0);
  Work mixed = work;
  mixed.claim = claim_of(work.run_id);
  const Work second = mixed;
  mixed.claim["token"] = work.claim.at("token");
  Output pushed = push(mixed, true, "mixed");
  EXPECT_NE(pushed.exit_code, 0);
  EXPECT_NE(pushed.err.find("the asking attempt has ended"), std::string::npos) << pushed.err;
  EXPECT_FALSE(remote_has("mixed"));
  mixed.claim = second.claim;
  mixed.claim["span_id"] = work.claim.at("span_id");
  EXPECT_NE(push(mixed, true, "mixed").exit_code, 0);
  EXPECT_FALSE(remote_has("mixed"));
  pushed = push(second, true, "second");
  EXPECT_EQ(pushed.exit_code, 0) << pushed.err;
}

TEST_F(Fence, WithoutItsServerNothingIsPushedFromARunsWorktree) {  // H12
  ASSERT_EQ(install().exit_code, 0);
  const Work work = start();
  server_.kill();
  Output pushed = push(work, true);
  EXPECT_NE(pushed.exit_code, 0);
  EXPECT_NE(pushed.err.find("the push is refused"), std::string::npos) << pushed.err;
  EXPECT_FALSE(remote_has("pushed"));
  pushed = shell("git -C repository push --quiet origin main");
  EXPECT_EQ(pushed.exit_code, 0) << "people's own pushes need no server: " << pushed.err;
  server_.start();
  pushed = push(work, false);
  EXPECT_EQ(pushed.exit_code, 0) << pushed.err;
}

TEST_F(Fence, AnotherRunsWorkerMayNotPush) {  // H12
  ASSERT_EQ(install().exit_code, 0);
  const Work work = start();
  Work other = start();
  other.worktree = work.worktree;
  const Output pushed = push(other, true);
  EXPECT_NE(pushed.exit_code, 0);
  EXPECT_NE(pushed.err.find("this worktree belongs to run " + work.run_id), std::string::npos)
      << pushed.err;
}

TEST_F(Fence, APreviousHookIsKeptAndRunsAfterwards) {
  const fs::path hook = repository() / ".git/hooks/pre-push";
  fs::create_directories(hook.parent_path());
  std::ofstream(hook)
      << "#!/bin/sh\ncat > \"$(dirname \"$0\")/../seen\"\necho \"$1\" >> \"$(dirname "
         "\"$0\")/../seen\"\n";
  fs::permissions(hook, fs::perms::owner_all);
  const std::string before = content_of(hook);

  Output installed = install();
  EXPECT_EQ(installed.exit_code, 2);
  EXPECT_NE(installed.err.find("signalbox fence install " + repository().string() + " --force"),
            std::string::npos)
      << installed.err;
  EXPECT_EQ(content_of(hook), before);

  installed = install({"--force"});
  EXPECT_EQ(installed.exit_code, 0) << installed.err;
  EXPECT_NE(installed.out.find("pre-push.before-signalbox"), std::string::npos) << installed.out;
  const std::string ours = content_of(hook);
  EXPECT_EQ(install().out.rfind("already installed", 0), 0U);
  EXPECT_EQ(content_of(hook), ours);
  ASSERT_EQ(shell("git -C repository push --quiet origin main").exit_code, 0);
  const std::string seen = content_of(repository() / ".git/seen");
  EXPECT_NE(seen.find("refs/heads/main"), std::string::npos) << seen;
  EXPECT_NE(seen.find("\norigin\n"), std::string::npos) << seen;

  const Output removed = server_.cli({"fence", "uninstall", repository().string()});
  EXPECT_EQ(removed.exit_code, 0) << removed.err;
  EXPECT_EQ(content_of(hook), before);
  EXPECT_EQ(server_.cli({"fence", "uninstall", repository().string()}).out.rfind("no hook", 0), 0U);
  EXPECT_EQ(content_of(hook), before);
}

TEST_F(Fence, HooksElsewhereAreFoundAndAMovingPlaceIsRefused) {
  const fs::path shared = scratch_.path() / "shared hooks";
  ASSERT_EQ(shell("git -C repository config core.hooksPath '" + shared.string() + "'").exit_code,
            0);
  ASSERT_EQ(install().exit_code, 0);
  EXPECT_TRUE(fs::exists(shared / "pre-push"));
  const Work work = start();
  ASSERT_EQ(server_.cli({"run", "cancel", work.run_id}).exit_code, 0);
  EXPECT_NE(push(work, false).exit_code, 0);

  ASSERT_EQ(shell("git -C repository config core.hooksPath .husky").exit_code, 0);
  const Output refused = install();
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find(".husky/pre-push"), std::string::npos) << refused.err;
}

TEST_F(Fence, CheckSaysWhatItIsAbout) {
  const Output outside = shell(std::string("'") + SIGNALBOX_BINARY + "' fence check --json", {});
  EXPECT_EQ(outside.exit_code, 0);
  EXPECT_NE(outside.out.find("\"fenced\":false"), std::string::npos) << outside.out;
  const Work work = start();
  const Output inside =
      shell("cd '" + work.worktree.string() + "' && '" + SIGNALBOX_BINARY + "' fence check --json");
  EXPECT_EQ(inside.exit_code, 0) << inside.out;
  EXPECT_NE(inside.out.find(work.run_id), std::string::npos) << inside.out;
}

}  // namespace
}  // namespace signalbox
