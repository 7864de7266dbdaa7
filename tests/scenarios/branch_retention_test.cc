// Branches and rescue refs of runs that nothing else has the commits of: they stay, also at the
// remote, until the age that the operator has set. All with the real binary and git.
#include <gtest/gtest.h>

#include "tests/fixtures/git_repository.h"
#include "tests/scenarios/file_retention_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// Its work is pushed, and then it fails.
constexpr const char* given_up_pipeline = R"(
name = "card"
[[station]]
name = "intake"
executor = "builtin"
[[station]]
name = "implement"
executor = "process"
command = ["sh", "-c", "echo more >new.txt"]
[[station]]
name = "create_pr"
executor = "builtin"
[[station]]
name = "deploy"
executor = "process"
command = ["false"]
retry = { max_retries = 0 }
)";

class BranchRetention : public WithFileRetention<CliTest> {
 protected:
  BranchRetention() : WithFileRetention(std::vector<std::string>{}) {}
  void SetUp() override {
    fs::create_directories(server_.data());
    serve_under("");
    make_repository(repository(), {{"file.txt", "one\n"}});
    set_identity(repository());
    make_remote(repository(), remote());
    write_text(pipeline(), given_up_pipeline);
    (void)result({"project", "put", "web", "--repository", repository().string(), "--remote",
                  "origin", "--pipeline", pipeline()});
  }
  // Starts the server, anew if it runs, with these keys of [retention].
  void serve_under(const std::string& keys) {
    if (is_serving_) server_.stop();
    write_settings("files_older_than = \"1s\"\nfiles_failed_runs = \"1s\"\n" + keys, "1s");
    server_.start();
    is_serving_ = true;
  }
  [[nodiscard]] fs::path repository() const { return scratch_.path() / "web"; }
  [[nodiscard]] fs::path remote() const { return scratch_.path() / "web.git"; }
  [[nodiscard]] json::object card(const std::string& id) const {
    return rpc("card.get", {{"card_id", id}}).at("card").as_object();
  }
  // Submits a card and blocks until its run has failed and its worktree is gone. Returns the run.
  [[nodiscard]] std::string given_up_run() const {
    const std::string id =
        text(result({"card", "submit", "Add it", "--project", "web"}), "card_id");
    await([&] { return text(card(id), "status") == "blocked"; });
    const std::string run_id = text(card(id), "run_id");
    await([&] { return !fs::exists(server_.data() / "runs" / run_id / "workspace"); });
    return run_id;
  }
  [[nodiscard]] std::size_t adopted_policies() const { return all_events("PolicyAdopted").size(); }
  [[nodiscard]] json::object measured() const { return status().at("measured").as_object(); }
  static std::string refs_of(const fs::path& directory, const std::string& pattern) {
    return git(directory, {"for-each-ref", "--format=%(refname)", pattern}).output;
  }

  bool is_serving_ = false;
};

TEST_F(BranchRetention, WorkThatWasGivenUpStaysUntilTheAgeThatIsSet) {  // A15
  const std::string run_id = given_up_run();
  const std::string branch = "refs/heads/signalbox/" + run_id + "-*";
  const std::string rescue = "refs/signalbox/rescue/" + run_id;
  run_git(repository(), {"update-ref", rescue, "HEAD"});
  run_git(remote(), {"update-ref", "refs/heads/signalbox/mine", "refs/heads/main"});
  const std::string commit = run_git(remote(), {"for-each-ref", "--format=%(objectname)", branch});
  // Without an age, and with one that isn't reached.
  for (const std::string& keys : std::vector<std::string>{"", "files_branches = \"366d\"\n"}) {
    serve_under(keys);
    round();
    EXPECT_NE(refs_of(repository(), branch), "");
    EXPECT_NE(refs_of(remote(), branch), "");
    EXPECT_NE(refs_of(repository(), rescue), "");
    const json::array refs = measured().at("refs").as_array();
    ASSERT_EQ(refs.size(), 1U) << json::serialize(refs);
    EXPECT_EQ(refs.at(0).at("branches"), 1);
    EXPECT_EQ(refs.at(0).at("rescue_refs"), 1);
    EXPECT_EQ(refs.at(0).at("remote_branches"), keys.empty() ? 0 : 1) << "asked only with an age";
    EXPECT_TRUE(refs.at(0).as_object().contains("oldest_at"));
  }
  EXPECT_NE(server_.cli({"status"}).out.find("rescue ref"), std::string::npos);

  serve_under("files_branches = \"1s\"\n");
  json::object plan;
  await([&] {
    plan = rpc("loop.plan_files");
    return plan.at("removed_refs").as_array().size() == 3;
  });
  EXPECT_NE(refs_of(remote(), branch), "") << "a plan removes nothing";
  round();
  EXPECT_EQ(refs_of(repository(), branch), "");
  EXPECT_EQ(refs_of(remote(), branch), "");
  EXPECT_EQ(refs_of(repository(), rescue), "");
  EXPECT_EQ(refs_of(remote(), "refs/heads/"), "refs/heads/main\nrefs/heads/signalbox/mine\n");
  EXPECT_EQ(measured().at("refs").as_array().size(), 0U);
  // Whoever wants the work back finds its commit in the log.
  ASSERT_TRUE(server_.logs("it was at " + commit));
  run_git(repository(), {"cat-file", "-e", commit});
}

TEST_F(BranchRetention, WhatARunThatGoesOnHasStays) {  // A15
  const std::string open = start_run_of(worker_pipeline, "go on");
  const std::string ended = start_run_of(worker_pipeline, "end");
  EXPECT_EQ(server_.cli({"run", "cancel", ended}).exit_code, 0);
  for (const std::string& each : {open, ended}) {
    run_git(repository(), {"update-ref", "refs/signalbox/rescue/" + each, "HEAD"});
  }
  serve_under("files_branches = \"1s\"\n");
  const auto await_rescue_gone = [&](const std::string& run_id) {
    await([&] {
      round();
      return refs_of(repository(), "refs/signalbox/rescue/" + run_id).empty();
    });
  };
  await_rescue_gone(ended);
  EXPECT_NE(refs_of(repository(), "refs/signalbox/rescue/" + open), "");
  EXPECT_EQ(server_.cli({"run", "cancel", open}).exit_code, 0);
  await_rescue_gone(open);
}

// The run under way may take over what an earlier one has done.
TEST_F(BranchRetention, WorkOfAllRunsOfAnUnblockedCardStays) {  // A15
  const std::string first = given_up_run();
  const std::string id = text(result({"card", "list"}).at("cards").at(0).as_object(), "card_id");
  result({"card", "unblock", id});
  await([&] { return text(card(id), "status") == "blocked" && text(card(id), "run_id") != first; });
  const std::string second = text(card(id), "run_id");
  for (const std::string& each : {first, second}) {
    run_git(repository(), {"update-ref", "refs/signalbox/rescue/" + each, "HEAD"});
  }
  const std::size_t policies = adopted_policies();
  write_text(repository() / "HEARTBEAT.md", "## Builder\n- [ ] processBacklog\n");
  await([&] { return adopted_policies() > policies; });
  result({"card", "unblock", id});
  // What goes by the same age, and ended later.
  const std::string ended = start_run_of(worker_pipeline, "end");
  EXPECT_EQ(server_.cli({"run", "cancel", ended}).exit_code, 0);
  run_git(repository(), {"update-ref", "refs/signalbox/rescue/" + ended, "HEAD"});
  serve_under("files_branches = \"1s\"\n");
  await([&] {
    round();
    return refs_of(repository(), "refs/signalbox/rescue/" + ended).empty();
  });
  EXPECT_EQ(text(card(id), "status"), "backlog");
  // Their branches here may go, since they were pushed.
  for (const std::string& each : {first, second}) {
    EXPECT_NE(refs_of(repository(), "refs/signalbox/rescue/" + each), "");
    EXPECT_NE(refs_of(remote(), "refs/heads/signalbox/" + each + "-*"), "");
  }
}

// A round that is cut short at any point leaves the rest to the next one.
TEST_F(BranchRetention, AKillDuringARoundLosesNothingElse) {  // A15
  const std::string run_id = given_up_run();
  const std::string branch = "refs/heads/signalbox/" + run_id + "-*";
  const std::string open = start_run_of(worker_pipeline, "go on");
  run_git(repository(), {"update-ref", "refs/signalbox/rescue/" + open, "HEAD"});
  serve_under("files_branches = \"1s\"\n");
  for (int kills = 0; kills < 3; ++kills) {
    result({"loop", "trigger", "file_retention"});
    server_.kill();
    server_.start();
  }
  await([&] {
    round();
    return refs_of(repository(), branch).empty() && refs_of(remote(), branch).empty();
  });
  EXPECT_NE(refs_of(repository(), "refs/signalbox/rescue/" + open), "");
  EXPECT_EQ(refs_of(remote(), "refs/heads/"), "refs/heads/main\n");
  run_git(repository(), {"fsck", "--connectivity-only", "--no-dangling"});
}

// Nothing of the run is left by then but its ref.
TEST_F(BranchRetention, RepositoriesOfRunsWhoseFilesWentAreKnownAfterAStart) {  // A15
  const fs::path other = make_repository(scratch_.path() / "other", {{"file.txt", "one\n"}});
  const std::string run_id =
      start_run_of("name = \"only\"\n[[station]]\nname = \"intake\"\nexecutor = \"builtin\"\n",
                   "begin", {"--repository", other.string()});
  await_status(run_id, "succeeded");
  const std::string rescue = "refs/signalbox/rescue/" + run_id;
  run_git(other, {"update-ref", rescue, "HEAD"});
  await([&] {
    round();
    return !fs::exists(server_.data() / "runs" / run_id) &&
           refs_of(other, "refs/heads/signalbox/").empty();
  });
  EXPECT_NE(refs_of(other, rescue), "") << "no age is set";
  const auto is_remembered = [&] {
    const std::string stored = content_of(server_.data() / "removed/repositories");
    return stored.find(other.string()) != std::string::npos;
  };
  EXPECT_TRUE(is_remembered());
  serve_under("files_branches = \"1s\"\n");
  await([&] {
    round();
    return refs_of(other, rescue).empty();
  });
  await([&] {  // nothing is left there
    round();
    return !is_remembered();
  });
}

TEST_F(BranchRetention, ARemoteThatIsAwayIsNamedAndHoldsUpNothing) {  // A15
  (void)given_up_run();
  serve_under("files_branches = \"366d\"\n");
  fs::rename(remote(), scratch_.path() / "away");
  round();
  const json::array refs = measured().at("refs").as_array();
  ASSERT_EQ(refs.size(), 1U);
  EXPECT_NE(text(refs.at(0).as_object(), "trouble").find("origin: git ls-remote: "),
            std::string::npos)
      << json::serialize(refs);
  EXPECT_EQ(refs.at(0).at("branches"), 1);
}

}  // namespace
}  // namespace signalbox
