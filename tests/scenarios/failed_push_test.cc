// A card whose work its remote refuses, from outside: real git, jobs and heartbeat. Once the remote
// is mended and the card unblocked, the work is pushed as it is, and no agent does it again.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/scenarios/repository_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// Each agent leaves a line outside of its worktree.
constexpr const char* pipeline_of_counted_agent = R"(
name = "card"
[[station]]
name = "intake"
executor = "builtin"
[[station]]
name = "implement"
executor = "process"
command = ["sh", "-c", "echo done >done.txt; echo agent >>SCRATCH/agents"]
retry = { max_retries = 0 }
[[station]]
name = "create_pr"
executor = "builtin"
retry = { max_retries = 0 }
)";

class FailedPush : public CardTestOfRepository {
 protected:
  void SetUp() override {
    CardTestOfRepository::SetUp();
    make_repository_and_remote({{"file.txt", "one\n"}});
    put_project(pipeline_of_counted_agent);
    fs::create_directories(hook().parent_path());
    write_text(hook(), "#!/bin/sh\necho closed for today >&2\nexit 1\n");
    fs::permissions(hook(), fs::perms::owner_all);
  }
  // Refuses every push to the remote while it is there.
  [[nodiscard]] fs::path hook() const { return remote() / "hooks" / "pre-receive"; }
  [[nodiscard]] fs::path fork() const { return scratch_.path() / "fork.git"; }
  void put_with_remote(const std::string& remote) const {
    (void)result({"project", "put", "site", "--repository", repository().string(), "--remote",
                  remote, "--keep-pipeline"});
  }
  // Submits a card and blocks until its push has failed. Returns its id.
  [[nodiscard]] std::string refused_card() const {
    const std::string id = submit("Add it");
    await_card(id, "blocked");
    EXPECT_EQ(text(card(id), "code"), "PUSH_FAILED") << json::serialize(card(id));
    EXPECT_TRUE(card(id).at("retry_at").is_null());
    return id;
  }
  [[nodiscard]] std::ptrdiff_t agents() const {
    const std::string lines = content_of(scratch_.path() / "agents");
    return std::count(lines.begin(), lines.end(), '\n');
  }
  // Blocks until the card is merged, and expects its work in the remote's base.
  void expect_merged(const std::string& id) const {
    await_card(id, "merged");
    EXPECT_EQ(run_git(remote(), {"show", "main:done.txt"}), "done");
  }
};

TEST_F(FailedPush, IsAllThatAnUnblockedCardDoesAgain) {  // A9
  const std::string id = refused_card();
  const std::string run = text(card(id), "run_id");
  EXPECT_TRUE(fs::exists(workspace_of_run(run) / "done.txt"));
  const std::string why_run = json::serialize(rpc("run.why", {{"run_id", run}}));
  EXPECT_NE(why_run.find("this run goes on and pushes its work"), std::string::npos) << why_run;
  const std::string why_card = json::serialize(rpc("card.why", {{"card_id", id}}));
  EXPECT_NE(why_card.find("its run pushes what is there"), std::string::npos) << why_card;
  EXPECT_NE(why_card.find("signalbox card block " + id), std::string::npos) << why_card;
  EXPECT_NE(why_run.find("signalbox card block " + id), std::string::npos) << why_run;

  unblock(id);  // too early
  await([&] { return count_of("CardBlocked") == 2; });
  EXPECT_EQ(text(card(id), "code"), "PUSH_FAILED");
  EXPECT_EQ(text(card(id), "run_id"), run);

  fs::remove(hook());
  write_text(repository() / "other.txt", "two\n");
  commit_everything(repository(), "two");
  run_git(repository(), {"push", "--quiet", "origin", "main"});  // the base moves on
  unblock(id);
  expect_merged(id);
  EXPECT_EQ(agents(), 1);
  EXPECT_EQ(text(card(id), "run_id"), run);
  EXPECT_EQ(card(id).at("runs").as_array().size(), 2U) << "one that works and one that merges";
  EXPECT_EQ(count_of("RunRetried"), 2U);
  EXPECT_EQ(run_git(remote(), {"show", "main:other.txt"}), "two");
  await([&] { return !fs::exists(workspace_of_run(run)); });
}

// Nobody who has mended the remote waits for the rest of an hour, or cancels the run to be faster.
TEST_F(FailedPush, IsMadeAgainAtOnceIfSomebodyResumesTheRun) {  // A9, A14
  std::string stations = pipeline_of_counted_agent;
  const std::string none = "max_retries = 0";
  stations.replace(stations.rfind(none), none.size(), "max_retries = 1, backoff = \"1h\"");
  put_project(stations);
  const std::string id = submit("Add it");
  await([&] { return count_of("StationAttemptFailed") == 1; });
  const std::string run = text(card(id), "run_id");
  const std::string why_run = json::serialize(rpc("run.why", {{"run_id", run}}));
  EXPECT_NE(why_run.find("run.resume, with which it is tried now"), std::string::npos) << why_run;
  EXPECT_EQ(why_run.find("run cancel"), std::string::npos) << "the work is done: " << why_run;
  fs::remove(hook());
  EXPECT_EQ(paste("signalbox run resume " + run).exit_code, 0);
  expect_merged(id);
  EXPECT_EQ(agents(), 1);
}

// As a disk that isn't mounted: nothing is committed yet.
TEST_F(FailedPush, OrAnythingElseInItsProposalThatPasses) {  // A9
  fs::remove(hook());
  const fs::path away = repository().string() + ".away";
  std::string stations = pipeline_of_counted_agent;
  const std::string move = "mv " + repository().string() + " " + away.string() + "; ";
  stations.insert(stations.find("echo done"), move);
  put_project(stations);
  const std::string id = submit("Add it");
  await_card(id, "blocked");
  EXPECT_EQ(text(card(id), "code"), "NOT_PROPOSED") << json::serialize(card(id));
  EXPECT_EQ(text(card(id), "message").find("REPOSITORY_AWAY: "), 0U) << json::serialize(card(id));
  const std::string run = text(card(id), "run_id");
  const std::string why_card = json::serialize(rpc("card.why", {{"card_id", id}}));
  EXPECT_NE(why_card.find("is kept in its worktree"), std::string::npos) << why_card;
  EXPECT_NE(why_card.find("no agent works"), std::string::npos) << why_card;

  fs::rename(away, repository());
  unblock(id);
  expect_merged(id);
  EXPECT_EQ(agents(), 1);
  EXPECT_EQ(text(card(id), "run_id"), run);
}

// A push of the same work would be refused for ever.
TEST_F(FailedPush, IsDoneAgainByAnAgentOnceAPersonHasBlockedTheCard) {  // A9
  const std::string id = refused_card();
  const std::string run = text(card(id), "run_id");
  EXPECT_EQ(paste("signalbox card block " + id + " --reason 'add it in another file'").exit_code,
            0);
  EXPECT_EQ(text(card(id), "code"), "BLOCKED");
  fs::remove(hook());
  unblock(id);
  expect_merged(id);
  EXPECT_EQ(agents(), 2);
  EXPECT_NE(text(card(id), "run_id"), run);
  EXPECT_EQ(count_of("RunRetried"), 0U);
  const std::string starts =
      json::serialize(rpc("events.read", {{"types", json::array{"RunStarted"}}, {"limit", 1000}}));
  EXPECT_NE(starts.find("earlier_work"), std::string::npos) << starts;
  EXPECT_NE(starts.find("closed for today"), std::string::npos) << starts;
  EXPECT_NE(starts.find("add it in another file"), std::string::npos) << starts;
  await([&] { return !fs::exists(workspace_of_run(run)); });
}

TEST_F(FailedPush, GoesOnAfterKillsBeforeAndAfterThat) {  // A9
  const std::string id = refused_card();
  const std::string run = text(card(id), "run_id");
  server_.kill();
  fs::remove(hook());
  server_.start();
  EXPECT_TRUE(fs::exists(workspace_of_run(run) / "done.txt"));
  unblock(id);
  server_.kill();
  server_.start();
  expect_merged(id);
  EXPECT_EQ(agents(), 1);
  EXPECT_EQ(text(card(id), "run_id"), run);
}

TEST_F(FailedPush, GoesToTheRemoteThatTheProjectHasByNow) {  // A9
  run_git(repository(), {"clone", "--quiet", "--bare", repository().string(), fork().string()});
  run_git(repository(), {"remote", "add", "early", fork().string()});
  const std::string id = refused_card();
  const std::string run = text(card(id), "run_id");
  put_with_remote("early");
  unblock(id);
  await_card(id, "merged");
  EXPECT_EQ(run_git(fork(), {"show", "main:done.txt"}), "done");
  EXPECT_EQ(agents(), 1);
  EXPECT_EQ(text(card(id), "run_id"), run);
  EXPECT_EQ(count_of("RunRetried"), 1U);
}

// The run doesn't use what was set up since it began. The message has the command that adds it.
TEST_F(FailedPush, GoesToARemoteThatWasAddedSinceOnceAPersonHasSaidSo) {  // A9, G12
  const std::string id = refused_card();
  run_git(repository(), {"clone", "--quiet", "--bare", repository().string(), fork().string()});
  run_git(repository(), {"remote", "add", "late", fork().string()});
  put_with_remote("late");
  unblock(id);
  await([&] { return count_of("CardBlocked") == 2; });
  const std::string message = text(card(id), "message");
  EXPECT_EQ(text(card(id), "code"), "PUSH_FAILED") << message;
  const std::size_t begin = message.find("`git config --file ");
  ASSERT_NE(begin, std::string::npos) << message;
  const std::size_t end = message.find('`', begin + 1);
  EXPECT_EQ(paste(message.substr(begin + 1, end - begin - 1)).exit_code, 0) << message;
  unblock(id);
  await_card(id, "merged");
  EXPECT_EQ(run_git(fork(), {"show", "main:done.txt"}), "done");
  EXPECT_EQ(agents(), 1);
}

// The worktree is of the repository that the project had.
TEST_F(FailedPush, IsDoneAgainInTheRepositoryThatTheProjectHasByNow) {  // A9
  const std::string id = refused_card();
  const std::string run = text(card(id), "run_id");
  const fs::path moved = scratch_.path() / "moved";
  run_git(repository(), {"clone", "--quiet", repository().string(), moved.string()});
  set_identity(moved);
  run_git(moved, {"remote", "set-url", "origin", fork().string()});
  run_git(repository(), {"clone", "--quiet", "--bare", repository().string(), fork().string()});
  (void)result({"project", "put", "site", "--repository", moved.string(), "--remote", "origin",
                "--keep-pipeline"});
  const std::string why = json::serialize(rpc("card.why", {{"card_id", id}}));
  EXPECT_NE(why.find("isn't the project's repository any more"), std::string::npos) << why;
  const std::string branch = "signalbox/" + run + "-*";
  EXPECT_NE(run_git(repository(), {"branch", "--list", branch}), "") << why;
  EXPECT_TRUE(fs::exists(workspace_of_run(run) / "done.txt"));
  unblock(id);
  await_card(id, "merged");
  EXPECT_EQ(run_git(fork(), {"show", "main:done.txt"}), "done");
  EXPECT_EQ(agents(), 2);
  EXPECT_NE(text(card(id), "run_id"), run);
  std::string starts =
      json::serialize(rpc("events.read", {{"types", json::array{"RunStarted"}}, {"limit", 1000}}));
  starts.erase(std::remove(starts.begin(), starts.end(), '\\'), starts.end());  // JSON within JSON
  const std::size_t earlier = starts.find("earlier_work");
  ASSERT_NE(earlier, std::string::npos) << starts;
  EXPECT_NE(starts.find("\"repository\":\"" + repository().string() + "\"", earlier),
            std::string::npos)
      << starts;
  await([&] { return !fs::exists(workspace_of_run(run)); });
  EXPECT_NE(run_git(repository(), {"branch", "--list", branch}), "") << "its work is kept";
}

TEST_F(FailedPush, WithoutItsWorktreeTheWorkIsDoneAgain) {  // A9
  const std::string id = refused_card();
  const std::string run = text(card(id), "run_id");
  run_git(repository(), {"worktree", "remove", "--force", workspace_of_run(run).string()});
  fs::remove(hook());
  unblock(id);
  expect_merged(id);
  EXPECT_EQ(agents(), 2);
  EXPECT_NE(text(card(id), "run_id"), run);
  EXPECT_EQ(count_of("RunRetried"), 0U);
}

}  // namespace
}  // namespace signalbox
