// Tests that work is judged by the checks of its base, whatever an agent writes in its workspace,
// and that changed checks are named. On real repositories.
#include "server/executors/judging_base.h"
#include "tests/server/judged_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

TEST_F(JudgedByBase, AnAgentThatReplacesTheChecksIsJudgedByThoseOfItsBase) {  // A7
  const Job job = begin({{"AGENTS.md", agents_file("false")}});
  work(job, "AGENTS.md", agents_file("true"));
  const JobResult result = verify(job);
  EXPECT_EQ(result.failure.code, "CHECKS_FAILED") << result.result.summary;
  EXPECT_EQ(field_of(result, "checks_changed"), json::array({"AGENTS.md"}));
  EXPECT_EQ(field_of(result, "base_commit"), json::value(base()));
  EXPECT_EQ(artifact_text(site, result, "checks_changed.txt"), "AGENTS.md\n");
  const json::object file = json::parse(artifact_text(site, result, "checks.json")).as_object();
  EXPECT_EQ(file.at("changed"), json::array({"AGENTS.md"}));
  EXPECT_NE(result.result.summary.find("The work changes what checks it: AGENTS.md."),
            std::string::npos)
      << result.result.summary;
}

// It can remove the patterns of its sparse checkout, which then explain nothing.
TEST_F(JudgedByBase, AFileThatTheOwnersCheckoutLeavesOutWasNotChanged) {  // A7
  write_text(repository / "AGENTS.md", agents_file("true"));
  commit_all(repository, "checks");
  run("config core.sparseCheckout true", repository);
  write_text(repository / ".git/info/sparse-checkout", "/file.txt\n");
  const Job job = builtin("intake");
  ASSERT_EQ(end_of(job).outcome, Outcome::succeeded);
  ASSERT_FALSE(fs::exists(workspace_of(job) / "AGENTS.md"));
  work(job, "file.txt", "two\n");
  fs::remove(fs::path(run("rev-parse --absolute-git-dir", workspace_of(job))) /
             "info/sparse-checkout");
  const JobResult result = verify(job);
  EXPECT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_TRUE(field_of(result, "checks_changed").is_null());
}

TEST_F(JudgedByBase, NoOtherInstructionsStandInForThoseOfTheBase) {  // A7
  const Job job = begin({{"AGENTS.md", agents_file("false")}});
  fs::remove(workspace_of(job) / "AGENTS.md");
  fs::create_symlink("/dev/zero", workspace_of(job) / "AGENTS.md");
  work(job, ".signalbox.toml", "[[checks]]\ncommand = \"true\"\n");
  EXPECT_EQ(verify(job).failure.code, "CHECKS_FAILED");
  run("add --all", workspace_of(job));
  commit_all(workspace_of(job), "mine");
  const JobResult committed = verify(job, {}, 2);
  EXPECT_EQ(committed.failure.code, "CHECKS_FAILED") << "a commit of the work is no base either";
  EXPECT_EQ(field_of(committed, "checks_changed"), json::array({".signalbox.toml", "AGENTS.md"}));
}

TEST_F(JudgedByBase, ReplacedObjectsAreNotWhatTheBaseHas) {  // A7
  const Job job = begin({{"AGENTS.md", agents_file("false")}});
  work(job, "AGENTS.md", agents_file("true"));
  commit_all(workspace_of(job), "mine");
  run("replace " + base() + " " + run("rev-parse HEAD", workspace_of(job)), workspace_of(job));
  EXPECT_EQ(verify(job).failure.code, "CHECKS_FAILED");
}

// What intake left in the data directory is gone: the log still says what the work began at.
TEST_F(JudgedByBase, WithoutThePinsTheLogsBaseJudges) {  // A7
  const Job begun = begin({{"AGENTS.md", agents_file("false")}});
  const Job job = recorded(begun, base());
  work(job, "AGENTS.md", agents_file("true"));
  fs::remove_all(pins_of(job));
  const JobResult result = verify(job);
  EXPECT_EQ(result.failure.code, "CHECKS_FAILED") << result.failure.message;
  EXPECT_EQ(field_of(result, "base_commit"), json::value(base()));
  EXPECT_EQ(field_of(result, "checks_changed"), json::array({"AGENTS.md"}));
  const JobResult proposed = end_of(next(job, "create_pr"));
  ASSERT_EQ(proposed.outcome, Outcome::succeeded) << proposed.failure.message;
  EXPECT_EQ(field_of(proposed, "base_commit"), json::value(base()));
  EXPECT_EQ(field_of(proposed, "checks_changed"), json::array({"AGENTS.md"}));
}

TEST_F(JudgedByBase, TheLogsBaseGoesBeforeThatOfThePins) {  // A7
  const Job begun = begin({{"AGENTS.md", agents_file("false")}});
  const Job job = recorded(begun, base());
  work(job, "AGENTS.md", agents_file("true"));
  commit_all(workspace_of(job), "mine");
  auto pinned = PinnedRepository::open_recorded(pins_of(job));
  ASSERT_TRUE(pinned.has_value());
  ASSERT_TRUE(pinned->record(run("rev-parse HEAD", workspace_of(job)), {}));
  EXPECT_EQ(verify(job).failure.code, "CHECKS_FAILED");
  const JobResult proposed = end_of(next(job, "create_pr"));
  ASSERT_EQ(proposed.outcome, Outcome::succeeded) << proposed.failure.message;
  EXPECT_EQ(field_of(proposed, "checks_changed"), json::array({"AGENTS.md"}));
}

// The run root is the agent's: a base that is written there isn't taken.
TEST_F(JudgedByBase, NothingIsJudgedIfNobodyKnowsTheBase) {  // A7
  const Job job = recorded(begin({{"AGENTS.md", agents_file("false")}}), "");
  work(job, "AGENTS.md", agents_file("true"));
  commit_all(workspace_of(job), "mine");
  fs::remove_all(pins_of(job));
  write_text(fs::path(job.run_root) / "base_commit",
             run("rev-parse HEAD", workspace_of(job)) + "\n");
  const Job create_pr = next(job, "create_pr");
  for (const JobResult& result : {verify(job), end_of(create_pr)}) {
    EXPECT_EQ(result.failure.code, "BASE_UNKNOWN") << result.failure.message;
    EXPECT_EQ(result.failure.error_class, ErrorClass::config);
    EXPECT_NE(result.failure.message.find("signalbox run why " + to_string(job.run_id)),
              std::string::npos)
        << result.failure.message;
  }
}

TEST_F(JudgedByBase, ABaseWithoutChecksGetsNoneFromTheWork) {  // A7
  const Job job = begin({{"README", "nothing to check\n"}});
  work(job, "AGENTS.md", agents_file("true"));
  const JobResult result = verify(job);
  EXPECT_EQ(result.failure.code, "CHECKS_MISSING");
  EXPECT_EQ(result.failure.error_class, ErrorClass::config);
  EXPECT_NE(result.failure.message.find(base().substr(0, 12)), std::string::npos)
      << result.failure.message;
}

TEST_F(JudgedByBase, ScriptsCountAndDataDoesNot) {  // A7
  const Job job = begin({{"AGENTS.md", agents_file("./check.sh")}, {"check.sh", "exit 0\n"}});
  fs::permissions(workspace_of(job) / "check.sh", fs::perms::owner_all);
  commit_all(workspace_of(job), "a file of its own");  // its mode changes: that is a change
  EXPECT_EQ(field_of(verify(job), "checks_changed"), json::array({"check.sh"}));

  const Job other = begin({{"AGENTS.md", agents_file("test -f file.txt")}});
  work(other, "file.txt", "two\n");
  work(other, "src/new.cc", "int main() {}\n");
  const JobResult result = verify(other);
  EXPECT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_TRUE(field_of(result, "checks_changed").is_null()) << "file.txt is data, not a script";
}

TEST_F(JudgedByBase, ScriptsThatThePipelinesChecksNameAreTold) {  // A7
  const Job job = begin({{"tools/check", "exit 1\n"}, {"Makefile", "all:\n"}});
  work(job, "tools/check", "exit 0\n");
  work(job, "Makefile", "all:\n\ttrue\n");
  work(job, ".github/workflows/ci.yml", "on: push\n");
  const JobResult result =
      verify(job, {{"own", {"sh", "-c", "cd tools && sh ./check && make -n -C .."}, 60'000}});
  EXPECT_EQ(field_of(result, "checks_changed"),
            json::array({".github/workflows/ci.yml", "Makefile", "tools/check"}));
  EXPECT_EQ(field_of(result, "checks_changed_total"), 3);

  const JobResult proposed = end_of(next(job, "create_pr"));
  ASSERT_EQ(proposed.outcome, Outcome::succeeded) << proposed.failure.message;
  const std::string text = artifact_text(site, proposed, "pull_request.md");
  const std::size_t section = text.find("## Changed checks\n");
  ASSERT_NE(section, std::string::npos) << text;
  EXPECT_LT(section, text.find("## Commits\n"));
  for (const char* file :
       {"- `.github/workflows/ci.yml`\n", "- `Makefile`\n", "- `tools/check`\n"}) {
    EXPECT_NE(text.find(file), std::string::npos) << text;
  }
  EXPECT_EQ(artifact_text(site, proposed, "checks_changed.txt"),
            ".github/workflows/ci.yml\nMakefile\ntools/check\n");
  EXPECT_EQ(field_of(proposed, "checks_changed_total"), 3);
  EXPECT_EQ(proposed.checks_changed, ".github/workflows/ci.yml, Makefile and tools/check");
  EXPECT_EQ(result.checks_changed, "") << "only what is proposed is decided about";
  EXPECT_NE(proposed.result.summary.find("It changes files that decide how work is checked: "),
            std::string::npos)
      << proposed.result.summary;
}

TEST_F(JudgedByBase, WhatANamedLinkLeadsToCountsAsWell) {  // A7
  fs::create_symlink("tools/real", repository / "check");
  fs::create_symlink("tools/checks", repository / "ci");
  const Job job = begin({{"AGENTS.md", agents_file("./check\n. ci/lint")},
                         {"tools/real", "#!/bin/sh\nexit 1\n"},
                         {"tools/checks/lint", "exit 1\n"}});
  work(job, "tools/real", "#!/bin/sh\n");
  work(job, "tools/checks/lint", "true\n");
  EXPECT_EQ(field_of(verify(job), "checks_changed"),
            json::array({"tools/checks/lint", "tools/real"}));
  const JobResult proposed = end_of(next(job, "create_pr"));
  ASSERT_EQ(proposed.outcome, Outcome::succeeded) << proposed.failure.message;
  EXPECT_EQ(field_of(proposed, "checks_changed"), json::array({"tools/checks/lint", "tools/real"}));
}

TEST_F(JudgedByBase, ALinkToADirectoryOfChecksCounts) {  // A7
  fs::create_directory_symlink("tools/checks", repository / "ci");
  const Job job = begin({{"AGENTS.md", agents_file("sh ci/lint")},
                         {"tools/checks/lint", "exit 1\n"},
                         {"tools/easy/lint", "exit 0\n"}});
  fs::remove(workspace_of(job) / "ci");
  fs::create_directory_symlink("tools/easy", workspace_of(job) / "ci");
  EXPECT_EQ(field_of(verify(job), "checks_changed"), json::array({"ci"}));
  const JobResult proposed = end_of(next(job, "create_pr"));
  ASSERT_EQ(proposed.outcome, Outcome::succeeded) << proposed.failure.message;
  EXPECT_EQ(field_of(proposed, "checks_changed"), json::array({"ci"}));
}

// Neither its own settings nor those of git hide that another commit of it is checked out.
TEST_F(JudgedByBase, ASubmoduleOfChecksCounts) {  // A7
  const fs::path library = make_repository(site.root() / "library", {{"check.sh", "exit 1\n"}});
  commit_submodule(repository, library, "tools");
  run("config --file .gitmodules submodule.tools.ignore all", repository);
  const Job job = begin({{"AGENTS.md", agents_file("sh tools/check.sh")}});
  const fs::path tools = workspace_of(job) / "tools";
  write_text(tools / "check.sh", "exit 0\n");
  commit_all(tools, "mine");
  run("push --quiet origin HEAD:refs/heads/other", tools);
  run("update-index --cacheinfo 160000," + run("rev-parse HEAD", tools) + ",tools",
      workspace_of(job));
  run("commit --quiet -m mine", workspace_of(job));
  EXPECT_EQ(field_of(verify(job), "checks_changed"), json::array({"tools"}));
  const JobResult proposed = end_of(next(job, "create_pr"));
  ASSERT_EQ(proposed.outcome, Outcome::succeeded) << proposed.failure.message;
  EXPECT_EQ(field_of(proposed, "checks_changed"), json::array({"tools"}));
}

TEST_F(JudgedByBase, WhatMakeAndNpmRunCountsAsWell) {  // A7
  const Job job = begin(
      {{"AGENTS.md", agents_file("make check\nnpm test")},
       {"Makefile", "all:\n\tcc main.c\ncheck: lint\n\tsh ci/all.sh\nlint:\n\t./ci/lint\n"},
       {"package.json", R"({"scripts":{"test":"node web/test.js","start":"node web/main.js"}})"},
       {"ci/all.sh", "#!/bin/sh\npython3 ci/deep.py\n"},
       {"ci/lint", "exit 0\n"},
       {"ci/deep.py", "print(1)\n"},
       {"main.c", "int main() {}\n"}});
  for (const char* file : {"ci/lint", "ci/deep.py", "web/test.js", "web/main.js", "main.c"}) {
    work(job, file, "changed\n");
  }
  const json::array expected{"ci/deep.py", "ci/lint", "web/test.js"};
  EXPECT_EQ(field_of(verify(job), "checks_changed"), expected);
  const JobResult proposed = end_of(next(job, "create_pr"));
  ASSERT_EQ(proposed.outcome, Outcome::succeeded) << proposed.failure.message;
  EXPECT_EQ(field_of(proposed, "checks_changed"), expected);
}

TEST_F(JudgedByBase, WhatIsIncludedCountsWhateverItsName) {  // A7
  const Job job = begin({{"AGENTS.md", agents_file("make check\n. ci/env.txt")},
                         {"Makefile", "include ci/rules\n"},
                         {"ci/rules", "check:\n\t@./ci/one\n"},
                         {"ci/one", "exit 1\n"},
                         {"ci/env.txt", "sh ci/two\n"},
                         {"ci/two", "exit 1\n"}});
  for (const char* file : {"ci/rules", "ci/one", "ci/two", "ci/three"}) work(job, file, "true\n");
  const json::array expected{"ci/one", "ci/rules", "ci/two"};
  EXPECT_EQ(field_of(verify(job), "checks_changed"), expected);
  const JobResult proposed = end_of(next(job, "create_pr"));
  ASSERT_EQ(proposed.outcome, Outcome::succeeded) << proposed.failure.message;
  EXPECT_EQ(field_of(proposed, "checks_changed"), expected);
}

// Scripts that call one another are followed within bounds.
TEST_F(JudgedByBase, IfMoreIsCalledThanIsReadEveryScriptCounts) {  // A7
  std::map<std::string, std::string> chain{{"AGENTS.md", agents_file("sh ci/0.sh")}};
  for (int number = 0; number < 9; ++number) {
    chain["ci/" + std::to_string(number) + ".sh"] = "sh ci/" + std::to_string(number + 1) + ".sh\n";
  }
  chain["ci/9.sh"] = "exit 1\n";
  const std::map<std::string, std::string> long_script{
      {"AGENTS.md", agents_file("sh all.sh")},
      {"all.sh", std::string(300 * 1024, '#') + "\nsh ci/9.sh\n"},
      {"ci/9.sh", "exit 1\n"}};
  for (const auto& files : {chain, long_script}) {
    const Job job = begin(files);
    work(job, "ci/9.sh", "exit 0\n");
    work(job, "main.cc", "int main() {}\n");
    const JobResult result = verify(job);
    EXPECT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
    EXPECT_EQ(field_of(result, "checks_changed"), json::array({"ci/9.sh"}));
    const JobResult proposed = end_of(next(job, "create_pr"));
    ASSERT_EQ(proposed.outcome, Outcome::succeeded) << proposed.failure.message;
    EXPECT_EQ(field_of(proposed, "checks_changed"), json::array({"ci/9.sh"}));
  }
}

// Nothing of a submodule is among the base's objects.
TEST_F(JudgedByBase, WhatAScriptInASubmoduleCallsIsUnknown) {  // A7
  const fs::path library =
      make_repository(site.root() / "library", {{"check.sh", "sh scripts/deep.sh\n"}});
  commit_submodule(repository, library, "tools");
  const Job job =
      begin({{"AGENTS.md", agents_file("sh tools/check.sh")}, {"scripts/deep.sh", "exit 1\n"}});
  work(job, "scripts/deep.sh", "exit 0\n");
  EXPECT_EQ(field_of(verify(job), "checks_changed"), json::array({"scripts/deep.sh"}));
  const JobResult proposed = end_of(next(job, "create_pr"));
  ASSERT_EQ(proposed.outcome, Outcome::succeeded) << proposed.failure.message;
  EXPECT_EQ(field_of(proposed, "checks_changed"), json::array({"scripts/deep.sh"}));
}

TEST_F(JudgedByBase, HooksOfTheRepositoryCountWhereverTheyLie) {  // A7
  run("config core.hooksPath scripts/git", repository);
  const Job job = begin({{"file.txt", "two\n"}, {"scripts/git/README.md", "hooks\n"}});
  work(job, "scripts/git/post-merge", "#!/bin/sh\n");
  const JobResult proposed = end_of(next(job, "create_pr"));
  ASSERT_EQ(proposed.outcome, Outcome::succeeded) << proposed.failure.message;
  EXPECT_EQ(field_of(proposed, "checks_changed"), json::array({"scripts/git/post-merge"}));
}

TEST_F(JudgedByBase, WhatThePolicyRefusesIsNotPushed) {  // A7
  make_remote(repository, site.root() / "remote.git");
  const Job job = begin({{"AGENTS.md", agents_file("true")}});
  work(job, "AGENTS.md", agents_file("true") + "Be bold.\n");
  Job create_pr = next(job, "create_pr");
  create_pr.definition.remote = "origin";
  create_pr.refuses_changed_checks = true;
  const JobResult refused = end_of(create_pr);
  EXPECT_EQ(refused.failure.code, "CHECKS_CHANGED") << refused.failure.message;
  EXPECT_EQ(refused.failure.error_class, ErrorClass::config);
  EXPECT_EQ(field_of(refused, "checks_changed"), json::array({"AGENTS.md"}));
  EXPECT_EQ(field_of(refused, "pushed_to"), "");
  EXPECT_NE(artifact_text(site, refused, "pull_request.md").find("## Changed checks"),
            std::string::npos);
  const auto branches = [&] {
    return run("for-each-ref --format=%(refname) refs/heads/signalbox", site.root() / "remote.git");
  };
  EXPECT_EQ(branches(), "");

  Job again = next(create_pr, "create_pr", 2);  // after the policy has changed
  again.refuses_changed_checks = false;
  EXPECT_EQ(end_of(again).outcome, Outcome::succeeded);
  EXPECT_NE(branches(), "");
}

// What git is told to overlook is proposed like all other work.
TEST_F(JudgedByBase, ThePullRequestNamesWhatItsCommitsChange) {  // A7
  const Job job = begin({{"CLAUDE.md", agents_file("true")}});
  run("update-index --assume-unchanged CLAUDE.md", workspace_of(job));
  work(job, "CLAUDE.md", agents_file("true") + "Be bold.\n");
  const JobResult proposed = end_of(next(job, "create_pr"));
  ASSERT_EQ(proposed.outcome, Outcome::succeeded) << proposed.failure.message;
  EXPECT_EQ(field_of(proposed, "checks_changed"), json::array({"CLAUDE.md"}));
}

TEST_F(JudgedByBase, WorkThatLeavesTheChecksAloneIsNotToldOf) {  // A7
  const Job job = begin({{"AGENTS.md", agents_file("true")}});
  work(job, "file.txt", "two\n");
  const JobResult proposed = end_of(next(job, "create_pr"));
  ASSERT_EQ(proposed.outcome, Outcome::succeeded) << proposed.failure.message;
  EXPECT_TRUE(field_of(proposed, "checks_changed").is_null());
  EXPECT_EQ(artifact_text(site, proposed, "pull_request.md").find("Changed checks"),
            std::string::npos);
}

TEST_F(JudgedByBase, AMergeIsJudgedByTheBaseThatItMergesInto) {  // A7
  const Job intake = begin({{"AGENTS.md", agents_file("false")}});
  work(intake, "AGENTS.md", agents_file("true"));
  const JobResult proposed = end_of(next(intake, "create_pr"));
  ASSERT_EQ(proposed.outcome, Outcome::succeeded) << proposed.failure.message;
  run("checkout --quiet --detach", repository);  // main is merged into, not worked on
  Job merge = builtin("merge");
  merge.workspace = merge.run_root + "/merge";
  merge.base = "main";
  merge.input =
      R"({"branch":"work","commit":")" + proposed.result.external_ref + R"(","title":"Greet"})";
  const JobResult merged = end_of(merge);
  ASSERT_EQ(merged.outcome, Outcome::succeeded) << merged.failure.message;
  const JobResult result = verify(merge);
  EXPECT_EQ(result.failure.code, "CHECKS_FAILED") << result.result.summary;
  EXPECT_EQ(field_of(result, "checks_changed"), json::array({"AGENTS.md"}));
}

TEST_F(JudgedByBase, ItsFilesAreReadWithinBounds) {  // A7
  const Job job = begin({{"AGENTS.md", agents_file("true")}, {"big.toml", std::string(5000, '#')}});
  const auto opened = JudgingBase::open(pins_of(job), repository, std::nullopt);
  ASSERT_TRUE(opened && opened->has_value());
  const JudgingBase& known = **opened;
  EXPECT_EQ(known.commit(), base());
  const auto text = known.read("AGENTS.md", 4096);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(text->value_or(""), agents_file("true"));
  const auto missing = known.read("--help", 4096);
  ASSERT_TRUE(missing) << missing.error().message;
  EXPECT_FALSE(missing->has_value());
  const auto too_long = known.read("big.toml", 4096);
  ASSERT_FALSE(too_long);
  EXPECT_EQ(too_long.error().code, "CHECKS_MISSING");
  const auto none = JudgingBase::open(site.root() / pins_directory_name / "none", repository, {});
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_FALSE(none->has_value());
}

}  // namespace
}  // namespace signalbox
