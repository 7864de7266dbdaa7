// A card whose agent leaves what no commit should hold, from outside: real git, jobs and heartbeat.
// The card waits for a person, with its worktree as it was left. What the message says to do is
// enough for the run to go on with that, without an agent; or the work is kept, and another run
// takes it over. So it is if the server is killed meanwhile.
#include <gtest/gtest.h>

#include "server/git/repository_lock.h"
#include "tests/scenarios/repository_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// Stand in for agents. If there is a next run, it takes over what was kept of the one before, which
// has to be there when it starts.
constexpr const char* agent_with_repository = R"sh(set -e
if [ -z "$SIGNALBOX_INPUT" ]; then
  mkdir vendor; cd vendor; git init --quiet; echo precious >precious.txt; git add .
  git -c user.name=e -c user.email=e@e commit --quiet -m precious
else
  ref=$(printf %s "$SIGNALBOX_INPUT" | sed 's/.*"ref":"\([^"]*\)".*/\1/')
  git show "$ref:vendor/precious.txt" >precious.txt
fi
)sh";
constexpr const char* agent_with_large_commit = R"sh(set -e
if [ -z "$SIGNALBOX_INPUT" ]; then
  head -c 2000 /dev/zero >large.bin; echo precious >precious.txt; git add .
  git -c user.name=e -c user.email=e@e commit --quiet -m both
else
  ref=$(printf %s "$SIGNALBOX_INPUT" | sed 's/.*"ref":"\([^"]*\)".*/\1/')
  git show "$ref:precious.txt" >precious.txt
fi
)sh";

constexpr const char* agent_that_removes_git = R"sh(set -e
if [ -z "$SIGNALBOX_INPUT" ]; then
  echo precious >precious.txt; rm .git
else
  ref=$(printf %s "$SIGNALBOX_INPUT" | sed 's/.*"ref":"\([^"]*\)".*/\1/')
  git show "$ref:precious.txt" >precious.txt
fi
)sh";

constexpr const char* agent_that_removes_worktree = R"sh(set -e
if [ -z "$SIGNALBOX_INPUT" ]; then
  echo precious >precious.txt; git add .
  git -c user.name=e -c user.email=e@e commit --quiet -m precious
  gone=$PWD; cd /; rm -rf "$gone"
else
  pattern=$(printf %s "$SIGNALBOX_INPUT" | sed 's/.*"branches":"\([^"]*\)".*/\1/')
  git show "$(git branch --list "$pattern" --format='%(refname)')":precious.txt >precious.txt
fi
)sh";

constexpr const char* agent_with_idea = R"sh(set -e
branch=$(git symbolic-ref --short HEAD)
git checkout --quiet -b idea; echo idea >idea.txt; git add idea.txt
git -c user.name=e -c user.email=e@e commit --quiet -m idea
git checkout --quiet "$branch"; echo work >work.txt
)sh";

constexpr const char* pipeline_of_agent = R"(
name = "card"
[[station]]
name = "intake"
executor = "builtin"
[[station]]
name = "implement"
executor = "process"
command = ["sh", "AGENT"]
retry = { max_retries = 0 }
[[station]]
name = "create_pr"
executor = "builtin"
)";

class LeftWorktree : public CardTestOfRepository {
 protected:
  void SetUp() override {
    serve_board("1s", "366d");
    make_repository(repository(), {{"file.txt", "one\n"}});
    set_identity(repository());
    std::string stations = pipeline_of_agent;
    stations.replace(stations.find("AGENT"), 5, agent().string());
    write_text(pipeline(), stations);
    (void)result(
        {"project", "put", "web", "--repository", repository().string(), "--pipeline", pipeline()});
  }
  [[nodiscard]] fs::path agent() const { return scratch_.path() / "agent.sh"; }
  // Submits a card for this agent and blocks until it waits for a person. Returns the card.
  [[nodiscard]] json::object blocked_card(const std::string& script) const {
    write_text(agent(), script);
    const std::string id =
        text(result({"card", "submit", "Add it", "--project", "web"}), "card_id");
    await([&] { return text(card(id), "status") == "blocked"; });
    const json::object blocked = card(id);
    EXPECT_TRUE(blocked.at("retry_at").is_null()) << json::serialize(blocked);
    return blocked;
  }
  // Has another run do the work, as the command says that `card why` names.
  void give_up(const std::string& id) const {
    const Output why = paste("signalbox card why " + id);
    EXPECT_NE(why.out.find("signalbox card block " + id), std::string::npos) << why.out;
    EXPECT_EQ(paste("signalbox card block " + id + " --reason 'begin again'").exit_code, 0);
    unblock(id);
  }
  // The card has the code of the run in its message.
  static void expect_code(const json::object& blocked, const std::string& code) {
    EXPECT_EQ(text(blocked, "code"), "NOT_PROPOSED") << json::serialize(blocked);
    EXPECT_EQ(text(blocked, "message").find(code + ": "), 0U) << json::serialize(blocked);
  }
  // Blocks until the run of the blocked card has gone on and succeeded, and expects this file in
  // its commit, which no second agent made.
  void expect_proposed(const json::object& blocked, const std::string& file) const {
    const std::string id = text(blocked, "card_id");
    const std::size_t ends = count_of("CardBlocked");
    await([&] { return text(card(id), "status") == "verified" || count_of("CardBlocked") > ends; });
    const json::object now = card(id);
    EXPECT_EQ(text(now, "status"), "verified") << json::serialize(now);
    const std::string run = text(blocked, "run_id");
    EXPECT_EQ(text(now, "run_id"), run);
    EXPECT_EQ(count_of("RunStarted"), 1U);
    EXPECT_EQ(count_of("RunRetried"), 1U);
    const std::string branch = run_git(repository(), {"for-each-ref", "--format=%(refname)",
                                                      "refs/heads/signalbox/" + run + "-*"});
    EXPECT_EQ(run_git(repository(), {"show", branch + ":" + file}), "precious");
    await([&] { return !fs::exists(workspace_of_run(run)); });
  }
  // Blocks until another run of the card has taken over `precious.txt`, and expects the work of the
  // first one under its rescue ref, as `kept`.
  void expect_taken_over(const json::object& blocked, const std::string& kept) const {
    const std::string id = text(blocked, "card_id");
    const std::string first = text(blocked, "run_id");
    await([&] {
      const std::string status = text(card(id), "status");
      return status == "verified" || status == "blocked";
    });
    EXPECT_EQ(text(card(id), "status"), "verified") << json::serialize(card(id));
    const std::string second = text(card(id), "run_id");
    EXPECT_NE(second, first);
    EXPECT_FALSE(fs::exists(workspace_of_run(first)));
    const std::string ref = "refs/signalbox/rescue/" + first;
    EXPECT_EQ(run_git(repository(), {"show", ref + ":" + kept}), "precious");
    const std::string why = git(repository(), {"log", "-1", "--format=%B", ref}).output;
    EXPECT_NE(why.find("its branch was signalbox/" + first + "-"), std::string::npos) << why;
    const json::array removed = all_events("WorktreeRemoved");
    ASSERT_FALSE(removed.empty());
    const json::object data = removed.at(0).at("data").as_object();
    EXPECT_EQ(text(data, "rescue_ref"), ref) << json::serialize(data);
    const std::string branch = run_git(repository(), {"for-each-ref", "--format=%(refname)",
                                                      "refs/heads/signalbox/" + second + "-*"});
    EXPECT_EQ(run_git(repository(), {"show", branch + ":precious.txt"}), "precious");
  }
};

TEST_F(LeftWorktree, WaitsForAPersonAndIsThenProposedWithoutAnAgent) {  // A1, A9
  const json::object blocked = blocked_card(agent_with_repository);
  expect_code(blocked, "NESTED_REPOSITORY");
  const std::string first = text(blocked, "run_id");
  const fs::path nested = workspace_of_run(first) / "vendor";
  EXPECT_EQ(content_of(nested / "precious.txt"), "precious\n");

  // The commands that the message names, and the one that the second of them names.
  const std::string message = text(blocked, "message");
  EXPECT_NE(message.find("rm -rf " + (nested / ".git").string()), std::string::npos) << message;
  EXPECT_EQ(paste_commands_of(message), 2U) << message;
  const Output why = paste("signalbox run why " + first);
  EXPECT_NE(why.out.find("signalbox card unblock "), std::string::npos) << why.out << why.err;
  unblock(text(blocked, "card_id"));
  expect_proposed(blocked, "vendor/precious.txt");
}

// No agent is paid for an unblock that comes too early.
TEST_F(LeftWorktree, WaitsAgainIfNobodyHasMendedIt) {  // A1, A9
  const json::object blocked = blocked_card(agent_with_repository);
  unblock(text(blocked, "card_id"));
  await([&] { return count_of("CardBlocked") == 2; });
  const json::object again = card(text(blocked, "card_id"));
  expect_code(again, "NESTED_REPOSITORY");
  EXPECT_EQ(text(again, "run_id"), text(blocked, "run_id"));
  EXPECT_EQ(count_of("RunStarted"), 1U);
  const fs::path nested = workspace_of_run(text(blocked, "run_id")) / "vendor";
  EXPECT_EQ(content_of(nested / "precious.txt"), "precious\n");
}

TEST_F(LeftWorktree, IsProposedAlsoAfterKillsBeforeAndAfterItIsUnblocked) {  // A1, A9
  const json::object blocked = blocked_card(agent_with_repository);
  server_.kill();
  fs::remove_all(workspace_of_run(text(blocked, "run_id")) / "vendor" / ".git");
  server_.start();
  unblock(text(blocked, "card_id"));
  server_.kill();
  server_.start();
  expect_proposed(blocked, "vendor/precious.txt");
}

// Nothing in its worktree is uncommitted, so nothing but the wait for a person keeps it.
TEST_F(LeftWorktree, OneWithALargeCommitIsThereForThePersonAlsoAfterAKill) {  // A1
  run_git(repository(), {"config", "signalbox.fileBytesMax", "1000"});
  const json::object blocked = blocked_card(agent_with_large_commit);
  expect_code(blocked, "FILE_TOO_LARGE");
  server_.kill();
  server_.start();
  const fs::path workspace = workspace_of_run(text(blocked, "run_id"));
  ASSERT_TRUE(fs::exists(workspace / "large.bin"));
  fs::rename(workspace / "large.bin", scratch_.path() / "large.bin");
  const std::string message = text(blocked, "message");
  EXPECT_EQ(paste_commands_of(message), 4U) << message;
  EXPECT_EQ(count_of("WorktreeRemoved") + count_of("WorktreeLeft"), 0U);
  unblock(text(blocked, "card_id"));
  expect_proposed(blocked, "precious.txt");
}

TEST_F(LeftWorktree, ItsCommitsAreHandedOnAsTheyAre) {  // A1
  run_git(repository(), {"config", "signalbox.fileBytesMax", "1000"});
  const json::object blocked = blocked_card(agent_with_large_commit);
  run_git(repository(), {"config", "signalbox.fileBytesMax", "2000"});
  give_up(text(blocked, "card_id"));
  expect_taken_over(blocked, "precious.txt");
}

TEST_F(LeftWorktree, TheCardSaysWhatIsLeftOutAndWhereItIs) {  // A1
  write_text(agent(), agent_with_idea);
  const std::string id = text(result({"card", "submit", "Add it", "--project", "web"}), "card_id");
  await([&] { return text(card(id), "status") == "verified"; });
  const json::object shown = card(id);
  ASSERT_TRUE(shown.contains("left_out")) << json::serialize(shown);
  const json::array& sentences = shown.at("left_out").as_array();
  ASSERT_EQ(sentences.size(), 1U) << json::serialize(shown);
  EXPECT_NE(sentences.at(0).as_string().find("they are in refs/heads/idea."), std::string::npos)
      << json::serialize(shown);
  const Output got = server_.cli({"card", "get", id});
  EXPECT_NE(got.out.find("left out"), std::string::npos) << got.out;
  EXPECT_NE(got.out.find("refs/heads/idea"), std::string::npos) << got.out;
}

// Nothing can be kept of it as it is, also if somebody wants another run.
TEST_F(LeftWorktree, OneWithoutItsGitFileIsThereUntilThatIsRepaired) {  // A1
  const json::object blocked = blocked_card(agent_that_removes_git);
  expect_code(blocked, "WORKSPACE_TAMPERED");
  const std::string id = text(blocked, "card_id");
  (void)result({"card", "block", id, "--reason", "on holiday"});
  EXPECT_EQ(count_of("WorktreeRemoved") + count_of("WorktreeLeft"), 0U);
  const std::string message = text(blocked, "message");
  EXPECT_EQ(paste_commands_of(message), 2U) << message;
  unblock(id);
  expect_taken_over(blocked, "precious.txt");
}

// Nobody calls it removed, and the next run isn't told of a ref that isn't there.
TEST_F(LeftWorktree, OneThatGitHasNoRecordOfStaysAndIsNamed) {  // A1
  const json::object blocked = blocked_card(
      "echo precious >precious.txt\n[ -n \"$SIGNALBOX_INPUT\" ] || "
      "rm -rf \"$(git rev-parse --absolute-git-dir)\"\n");
  expect_code(blocked, "WORKSPACE_TAMPERED");
  give_up(text(blocked, "card_id"));
  await([&] { return count_of("WorktreeLeft") + count_of("WorktreeRemoved") > 0; });
  EXPECT_EQ(count_of("WorktreeRemoved"), 0U);
  EXPECT_EQ(content_of(workspace_of_run(text(blocked, "run_id")) / "precious.txt"), "precious\n");
}

// What was committed in it is still on its branch.
TEST_F(LeftWorktree, OneThatItsAgentRemovedIsBroughtBackAndProposed) {  // A1
  const json::object blocked = blocked_card(agent_that_removes_worktree);
  expect_code(blocked, "WORKSPACE_TAMPERED");
  EXPECT_FALSE(fs::exists(workspace_of_run(text(blocked, "run_id"))));
  const std::string message = text(blocked, "message");
  EXPECT_EQ(paste_commands_of(message), 2U) << message;
  unblock(text(blocked, "card_id"));
  expect_proposed(blocked, "precious.txt");
}

TEST_F(LeftWorktree, OneThatItsAgentRemovedHoldsNoOtherRunUp) {  // A1
  const json::object blocked = blocked_card(agent_that_removes_worktree);
  const std::string id = text(blocked, "card_id");
  give_up(id);
  await([&] { return text(card(id), "status") == "verified"; });
  const std::string branch =
      run_git(repository(), {"for-each-ref", "--format=%(refname)",
                             "refs/heads/signalbox/" + text(card(id), "run_id") + "-*"});
  EXPECT_EQ(run_git(repository(), {"show", branch + ":precious.txt"}), "precious");
}

// Whoever holds the repository's lock keeps the worktree from being removed.
TEST_F(LeftWorktree, AKillBeforeItsRemovalKeepsTheCardWaitingForThat) {  // A1
  const json::object blocked = blocked_card(agent_with_repository);
  const fs::path workspace = workspace_of_run(text(blocked, "run_id"));
  fs::remove_all(workspace / "vendor" / ".git");
  {
    const auto lock = RepositoryLock::take(repository());
    ASSERT_TRUE(lock.has_value());
    give_up(text(blocked, "card_id"));
    const std::size_t ticks = count_of("TickStarted");
    await([&] { return count_of("TickStarted") >= ticks + 2; });  // of the heartbeat
    EXPECT_EQ(count_of("CardStarted"), 1U) << "what its next run is given isn't there yet";
    EXPECT_EQ(text(card(text(blocked, "card_id")).at("waiting").as_object(), "reason"), "worktree");
    server_.kill();
  }
  EXPECT_TRUE(fs::exists(workspace));
  server_.start();
  expect_taken_over(blocked, "vendor/precious.txt");
}

TEST_F(LeftWorktree, OneWhoseGitFileIsRepairedIsProposed) {  // A1, A9
  const json::object blocked = blocked_card(agent_that_removes_git);
  EXPECT_EQ(paste_commands_of(text(blocked, "message")), 2U);
  unblock(text(blocked, "card_id"));
  expect_proposed(blocked, "precious.txt");
}

TEST_F(LeftWorktree, AKillDuringItsRemovalLosesNothing) {  // A1
  const json::object blocked = blocked_card(agent_with_repository);
  fs::remove_all(workspace_of_run(text(blocked, "run_id")) / "vendor" / ".git");
  give_up(text(blocked, "card_id"));
  server_.kill();
  server_.start();
  expect_taken_over(blocked, "vendor/precious.txt");
}

TEST_F(LeftWorktree, NeitherDoesOneOnceItsWorkIsKept) {  // A1
  const json::object blocked = blocked_card(agent_with_repository);
  const std::string first = text(blocked, "run_id");
  fs::remove_all(workspace_of_run(first) / "vendor" / ".git");
  give_up(text(blocked, "card_id"));
  await([&] { return fs::exists(repository() / ".git/refs/signalbox/rescue" / first); });
  server_.kill();
  server_.start();
  expect_taken_over(blocked, "vendor/precious.txt");
}

}  // namespace
}  // namespace signalbox
