// Cards whose project's jobs are executed at runners, each with a clone of its own: the work comes
// back through the remote, and so does what a run that failed has left for the next one.
#include <gtest/gtest.h>

#include "tests/scenarios/http_client.h"
#include "tests/scenarios/repository_fixture.h"
#include "tests/scenarios/runner_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr const char* pipeline_at_runners = R"(
name = "card"
runs_on = ["gpu"]
[[station]]
name = "intake"
executor = "builtin"
[[station]]
name = "implement"
executor = "process"
command = ["sh", "SCRATCH/agent.sh"]
retry = { max_retries = 0 }
[[station]]
name = "verify"
executor = "checks"
[[station.checks]]
name = "it is there"
command = ["sh", "-c", "test -f work.txt && pwd >>SCRATCH/checked"]
[[station]]
name = "look"
executor = "approval"
[[station]]
name = "create_pr"
executor = "builtin"
)";

// What isn't committed, and what is, are both handed on.
constexpr const char* agent = R"sh(set -e
if [ -z "$SIGNALBOX_INPUT" ]; then
  echo committed >committed.txt; git add .
  git -c user.name=e -c user.email=e@e commit --quiet -m committed
  echo left >left.txt; echo work >work.txt
else
  ref=$(printf %s "$SIGNALBOX_INPUT" | sed 's/.*"ref":"\([^"]*\)".*/\1/')
  git show "$ref:left.txt" >taken.txt
  git show "$ref:committed.txt" >>taken.txt
  echo work >work.txt
fi
)sh";

class CardsAtRunners : public CardTestOfRepository {
 protected:
  void SetUp() override {
    CardTestOfRepository::SetUp();
    make_repository_and_remote({{"file.txt", "one\n"}});
    write_text(scratch_.path() / "agent.sh", agent);
    put_project(pipeline_at_runners);
  }
  // Starts a runner with a clone of its own.
  RunnerProcess& start_runner(const std::string& name, const std::string& lease = "10m") {
    const fs::path clone = clone_of(name);
    run_git(scratch_.path(), {"clone", "-q", remote().string(), clone.string()});
    set_identity(clone);
    runners_.push_back(std::make_unique<RunnerProcess>(
        scratch_.path() / name, std::vector<std::string>{"--data", server_.data().string()},
        std::vector<std::string>{"--name", name, "--lease", lease, "--labels", "gpu",
                                 "--repository", repository().string() + "=" + clone.string()}));
    runners_.back()->start();
    EXPECT_TRUE(eventually([&] { return !id_of(name).empty(); })) << runners_.back()->log();
    return *runners_.back();
  }
  [[nodiscard]] fs::path clone_of(const std::string& name) const {
    return scratch_.path() / (name + "-clone");
  }
  [[nodiscard]] std::string id_of(const std::string& name) const {
    const json::object listed = rpc("runner.list");
    for (const json::value& each : listed.at("runners").as_array()) {
      const std::string id(each.at("runner").as_string());
      if (id.starts_with("runner:" + name + "-")) return id;
    }
    return {};
  }
  [[nodiscard]] fs::path workspace_at(const std::string& runner, const std::string& run) const {
    return scratch_.path() / runner / "runs" / run / "workspace";
  }
  void await_question(const std::string& card_id) const {
    await([&] {
      const json::object shown = card(card_id);
      const json::object* const waiting = shown.at("waiting").if_object();
      return waiting != nullptr && text(*waiting, "reason") == "approval";
    });
  }
  // Blocks until the card's run asks for the decision, and makes it. Returns the run.
  [[nodiscard]] std::string decide(const std::string& card_id, const std::string& decision) const {
    await_question(card_id);
    const std::string run = text(card(card_id), "run_id");
    EXPECT_EQ(paste("signalbox run resume " + run + " --station look --decision " + decision +
                    " --reason 'it has to be so'")
                  .exit_code,
              0);
    return run;
  }

  std::vector<std::unique_ptr<RunnerProcess>> runners_;
};

TEST_F(CardsAtRunners, AreWorkedOnCheckedAndMergedThere) {  // N1, N3, H6
  RunnerProcess& one = start_runner("one");
  const std::string id = submit("Add it");
  await_question(id);
  // Nobody approves what can't be seen.
  const Output diff = server_.cli({"run", "diff", text(card(id), "run_id")});
  for (const char* added : {"+work\n", "+left\n", "+committed\n"}) {
    EXPECT_NE(diff.out.find(added), std::string::npos) << diff.out << diff.err;
  }
  const std::string run = decide(id, "approve");
  await_card(id, "merged");
  EXPECT_EQ(line("git -C remote.git show main:work.txt"), "work");
  // Of the run and of its merge.
  const std::string checked = content_of(scratch_.path() / "checked");
  EXPECT_EQ(std::count(checked.begin(), checked.end(), '\n'), 2) << checked;
  EXPECT_EQ(checked.find(server_.data().string()), std::string::npos) << checked;
  await([&] { return !fs::exists(workspace_at("one", run).parent_path()); });
  await([&] { return all_events("WorktreeRemoved").size() == 2; });
  const json::array removed = all_events("WorktreeRemoved");
  for (const json::value& each : removed) {
    const std::string path = text(each.at("data").as_object(), "path");
    EXPECT_EQ(path.find(id_of("one") + ":/"), 0U) << path;
  }
  EXPECT_EQ(line("git -C repository worktree list | wc -l"), "1");
  EXPECT_EQ(line("git -C one-clone worktree list | wc -l"), "1") << one.log();
  EXPECT_EQ(all_events("RunStarted").size(), 2U);
}

// It is read in parts, and has bytes that are no UTF-8.
TEST_F(CardsAtRunners, ALargeChangeIsShownToItsEnd) {  // N4
  write_text(scratch_.path() / "agent.sh",
             "head -c 700000 /dev/zero | tr '\\0' '\\351' | fold -b -w 100 >work.txt\n"
             "echo >>work.txt; echo 'the last line' >>work.txt\n");
  start_runner("one");
  const std::string id = submit("Add it");
  await_question(id);
  HttpClient client(server_.socket());
  const std::string patch =
      client.get("/v1/runs/" + text(card(id), "run_id") + "/artifacts/change.patch").body();
  EXPECT_NE(patch.find("+the last line"), std::string::npos) << patch.size();
  EXPECT_GT(std::count(patch.begin(), patch.end(), '\n'), 7000);
}

TEST_F(CardsAtRunners, AnAttemptWithoutItsChangeSaysSo) {  // N4
  write_text(
      scratch_.path() / "agent.sh",
      "echo work >work.txt; i=0\n"
      "while [ $i -lt 30 ]; do i=$((i+1)); echo $i >$SIGNALBOX_ARTIFACTS_DIR/$i.txt; done\n");
  start_runner("one");
  (void)decide(submit("Add it"), "reject");
  write_text(scratch_.path() / "agent.sh", "echo work >work.txt; rm .git\n");
  await_card(submit("Add more"), "blocked");
  const std::string ends = json::serialize(all_events("StationSucceeded"));
  for (const char* why :
       {"there are as many artifacts as an attempt can have", "its .git is not the file"}) {
    EXPECT_NE(ends.find(std::string("It has no change.patch: ") + why), std::string::npos) << ends;
  }
}

// The runner of the first run is drained, so that the next one is given to another.
TEST_F(CardsAtRunners, WhatAFailedRunHasLeftIsThereForTheNextOneElsewhere) {  // N3, N5, A9
  start_runner("one");
  const std::string id = submit("Add it");
  const std::string first = decide(id, "reject");
  await_card(id, "blocked");
  await([&] { return all_events("WorktreeRemoved").size() == 1; });
  EXPECT_FALSE(fs::exists(workspace_at("one", first)));
  (void)result({"runner", "drain", id_of("one")});
  start_runner("two");
  unblock(id);
  const std::string second = decide(id, "approve");
  EXPECT_NE(second, first);
  await_card(id, "merged");
  EXPECT_EQ(line("git -C remote.git show main:taken.txt | tr '\\n' ' '"), "left committed ");
  EXPECT_EQ(run_git(clone_of("two"), {"show", "refs/signalbox/rescue/" + first + ":left.txt"}),
            "left");
}

// The remote has to have it first: the next run may begin at any runner.
TEST_F(CardsAtRunners, TheNextRunWaitsUntilTheRemoteHasWhatTheFailedOneLeft) {  // N5, A9
  const fs::path hook = remote() / "hooks/pre-receive";
  write_text(hook, with_scratch("#!/bin/sh\nread old new ref\ncase $ref in *-0)\n"
                                "echo x >SCRATCH/pushing\n"
                                "while [ -d SCRATCH ] && [ ! -e SCRATCH/go ]; do sleep 0.02; done\n"
                                "esac\n"));
  fs::permissions(hook, fs::perms(0755));
  start_runner("one");
  const std::string id = submit("Add it");
  const std::string first = decide(id, "reject");
  await([&] { return fs::exists(scratch_.path() / "pushing"); });
  (void)result({"runner", "drain", id_of("one")});
  start_runner("two");
  await_card(id, "blocked");
  unblock(id);
  const Output why = server_.cli({"card", "why", id});
  EXPECT_NE(why.out.find("the end of that removal, at " + id_of("one")), std::string::npos)
      << why.out;
  (void)result({"loop", "trigger", "heartbeat"});
  EXPECT_EQ(text(card(id), "run_id"), first);
  write_text(scratch_.path() / "go", "");
  EXPECT_NE(decide(id, "approve"), first);
  await_card(id, "merged");
  EXPECT_EQ(line("git -C remote.git show main:taken.txt | tr '\\n' ' '"), "left committed ");
}

// The worktree is gone by then.
TEST_F(CardsAtRunners, APushThatFailedIsTriedAgain) {  // N5
  RunnerProcess& one = start_runner("one");
  const std::string id = submit("Add it");
  await_question(id);
  fs::rename(remote(), scratch_.path() / "away.git");
  run_git(clone_of("one"), {"config", "core.sshCommand", "false"});  // as an agent may have done
  const std::string first = decide(id, "reject");
  ASSERT_TRUE(one.logs("isn't at "));
  EXPECT_TRUE(one.logs("aren't used for this, since an agent may have written them")) << one.log();
  EXPECT_FALSE(fs::exists(workspace_at("one", first)));
  EXPECT_TRUE(all_events("WorktreeRemoved").empty());
  fs::rename(scratch_.path() / "away.git", remote());
  one.kill();
  one.start();
  await([&] { return all_events("WorktreeRemoved").size() == 1; });
  EXPECT_EQ(line("git -C remote.git show signalbox/" + first + "-0:left.txt"), "left");
  EXPECT_TRUE(all_events("WorktreeLeft").empty());
  await([&] { return fs::is_empty(scratch_.path() / "one" / "placed"); });
}

TEST_F(CardsAtRunners, WhatSomebodyElsePushedUnderItsNameStays) {  // N5
  RunnerProcess& one = start_runner("one");
  const std::string id = submit("Add it");
  await_question(id);
  const std::string run = text(card(id), "run_id");
  const std::string theirs =
      line("git -C repository commit-tree 'HEAD^{tree}' -p HEAD -m 'of somebody else'");
  run_git(repository(), {"push", "-q", "origin", theirs + ":refs/heads/signalbox/" + run + "-0"});
  (void)decide(id, "reject");
  ASSERT_TRUE(one.logs("isn't at "));
  EXPECT_EQ(line("git -C remote.git rev-parse signalbox/" + run + "-0"), theirs);
  EXPECT_EQ(run_git(clone_of("one"), {"show", "refs/signalbox/rescue/" + run + ":left.txt"}),
            "left");
}

// Killed when it is asked, the next process of the runner is asked again.
TEST_F(CardsAtRunners, AKilledRunnerRemovesItsWorktreeWhenItIsBack) {  // N3, N5
  RunnerProcess& one = start_runner("one");
  const std::string id = submit("Add it");
  await_question(id);
  one.kill();
  const std::string first = decide(id, "reject");
  await_card(id, "blocked");
  EXPECT_TRUE(fs::exists(workspace_at("one", first)));
  server_.kill();
  server_.start();
  EXPECT_TRUE(fs::exists(workspace_at("one", first)));
  one.start();
  await([&] { return !fs::exists(workspace_at("one", first)); });
  await([&] { return all_events("WorktreeRemoved").size() == 1; });
  EXPECT_NE(line("git -C remote.git rev-parse signalbox/" + first + "-0"), "");
}

// Its job counts as lost, and is still under way when the runner is back.
TEST_F(CardsAtRunners, AWorktreeStaysUntilTheLastJobInItHasEnded) {  // N5
  write_text(scratch_.path() / "agent.sh",
             with_scratch("trap 'sleep 1; echo last >last.txt; exit 0' TERM\n"
                          "echo begun >SCRATCH/begun\n"
                          "while [ -d SCRATCH ]; do sleep 0.02; done\n"));
  RunnerProcess& one = start_runner("one", "5s");
  const std::string id = submit("Add it");
  await([&] { return fs::exists(scratch_.path() / "begun"); });
  one.kill();
  await_card(id, "blocked");
  const std::string run = text(card(id), "run_id");
  one.start();
  await([&] { return all_events("WorktreeRemoved").size() == 1; });
  EXPECT_EQ(line("git -C remote.git show signalbox/" + run + "-0:last.txt"), "last") << one.log();
}

TEST_F(CardsAtRunners, AWorktreeOfARunnerThatIsGoneForGoodIsGivenUp) {  // N3
  RunnerProcess& one = start_runner("one");
  const std::string id = submit("Add it");
  await_question(id);
  one.kill();
  (void)decide(id, "reject");
  await_card(id, "blocked");
  (void)result({"runner", "evict", id_of("one")});
  await([&] { return all_events("WorktreeLeft").size() == 1; });
  const json::array left = all_events("WorktreeLeft");
  EXPECT_NE(json::serialize(left).find("was evicted, and has it"), std::string::npos)
      << json::serialize(left);
  const std::string why = server_.cli({"card", "why", id}).out;
  EXPECT_NE(why.find("The worktree of its run was left at " + id_of("one") + ":"),
            std::string::npos)
      << why;
}

// The reason has the name of what can't be kept.
TEST_F(CardsAtRunners, AWorktreeIsLeftWithAReasonWhateverIsInIt) {  // N3, A1
  write_text(scratch_.path() / "agent.sh",
             "echo work >work.txt\nd=$(printf 'v\\377'); mkdir \"$d\"; cd \"$d\"; git init -q; "
             "echo x >x; git add .; git -c user.name=e -c user.email=e@e commit -qm x\n");
  const RunnerProcess& one = start_runner("one");
  const std::string id = submit("Add it");
  (void)decide(id, "reject");
  await_card(id, "blocked");
  await([&] { return all_events("WorktreeLeft").size() == 1; });
  const json::array left = all_events("WorktreeLeft");
  EXPECT_NE(json::serialize(left).find("v?/ is a git repository of its own"), std::string::npos)
      << json::serialize(left) << one.log();
}

// Its card can't go on with the run, so another one does the work.
TEST_F(CardsAtRunners, SoIsOneThatIsKeptForItsCard) {  // N3, A1
  write_text(scratch_.path() / "agent.sh",
             "echo work >work.txt\n[ -n \"$SIGNALBOX_INPUT\" ] || { mkdir v; cd v; git init -q; "
             "echo x >x; git add .; git -c user.name=e -c user.email=e@e commit -qm x; }\n");
  RunnerProcess& one = start_runner("one");
  const std::string id = submit("Add it");
  const std::string first = decide(id, "approve");
  await_card(id, "blocked");
  EXPECT_EQ(text(card(id), "message").find("NESTED_REPOSITORY"), 0U);
  const Output why = server_.cli({"card", "why", id});
  EXPECT_NE(why.out.find(id_of("one")), std::string::npos) << why.out;
  const std::string gone = id_of("one");
  one.kill();
  server_.kill();
  server_.start();  // which has heard of it from its log only
  (void)result({"runner", "evict", gone});
  await([&] { return all_events("WorktreeLeft").size() == 1; });
  start_runner("two");
  unblock(id);
  EXPECT_NE(decide(id, "approve"), first);
  await_card(id, "merged");
}

TEST_F(CardsAtRunners, NeedARemoteThroughWhichTheirWorkComes) {  // N3
  const Output refused = server_.cli(
      {"project", "put", "here", "--repository", repository().string(), "--pipeline", pipeline()});
  EXPECT_EQ(refused.exit_code, 2) << refused.err;
  EXPECT_NE(refused.err.find("names one"), std::string::npos) << refused.err;
}

}  // namespace
}  // namespace signalbox
