// Tests that what an agent can write into the repository's git directory, beside its work, changes
// no judgement about that work: grafts, shallow files, attributes, ignored patterns, and objects
// that are replaced by others. On real repositories; programs in the configuration are those of
// tests/scenarios/hostile_workspace_test.cc.
#include "tests/server/judged_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

class PlantedFiles : public JudgedByBase {
 protected:
  void SetUp() override {
    JudgedByBase::SetUp();
    fs::create_directories(git_directory() / "info");
  }
  fs::path git_directory() const { return repository / ".git"; }
  fs::path object_file(const std::string& id) const {
    return git_directory() / "objects" / id.substr(0, 2) / id.substr(2);
  }
  // Puts the content of the object `other` in place of that of `id`.
  void replace_object(const std::string& id, const std::string& other) const {
    ASSERT_NE(id, other);
    ASSERT_TRUE(fs::remove(object_file(id))) << "it is in a pack";
    fs::copy_file(object_file(other), object_file(id));
  }
  std::string proposed_head(const Job& job) {
    const JobResult proposed = end_of(next(job, "create_pr"));
    EXPECT_EQ(proposed.outcome, Outcome::succeeded) << proposed.failure.message;
    return proposed.result.external_ref;
  }
  bool has_file(const std::string& commit, const std::string& file) const {
    return git(repository, {"cat-file", "-e", commit + ":" + file}).ok;
  }
};

TEST_F(PlantedFiles, AnotherHistoryHidesNoCommit) {  // A7
  for (const char* file : {"info/grafts", "shallow"}) {
    SCOPED_TRACE(file);
    const Job job = begin({{"AGENTS.md", agents_file("true")}});
    work(job, "AGENTS.md", agents_file("true") + "Be bold.\n");
    commit_all(workspace_of(job), "mine");
    work(job, "new.txt", "new\n");
    commit_all(workspace_of(job), "mine as well");
    write_text(git_directory() / file, run("rev-parse HEAD", workspace_of(job)) + "\n");
    const JobResult proposed = end_of(next(job, "create_pr"));
    fs::remove(git_directory() / file);
    ASSERT_EQ(proposed.outcome, Outcome::succeeded) << proposed.failure.message;
    EXPECT_EQ(field_of(proposed, "commits"), 2);
    EXPECT_EQ(field_of(proposed, "checks_changed"), json::array({"AGENTS.md"}));
  }
}

// It would say that the base has the merge already, and nothing would be pushed.
TEST_F(PlantedFiles, AGraftIsNoMerge) {  // A7
  const Job intake = begin({{"AGENTS.md", agents_file("true")}});
  work(intake, "new.txt", "new\n");
  const std::string head = proposed_head(intake);
  run("checkout --quiet --detach", repository);
  Job merge = builtin("merge");
  merge.workspace = merge.run_root + "/merge";
  merge.base = "main";
  merge.input = R"({"branch":"work","commit":")" + head + R"(","title":"Greet"})";
  ASSERT_EQ(end_of(merge).outcome, Outcome::succeeded);
  const std::string merged = run("rev-parse HEAD", workspace_of(merge));
  write_text(git_directory() / "info/grafts", base() + " " + merged + "\n");
  const JobResult pushed = end_of(next(merge, "push"));
  ASSERT_EQ(pushed.outcome, Outcome::succeeded) << pushed.failure.message;
  EXPECT_EQ(field_of(pushed, "already_pushed"), false);
  EXPECT_EQ(base(), merged);
}

TEST_F(PlantedFiles, AttributesAndPatternsThatComeLaterAreNotUsed) {  // A7, G12
  const Job job = begin({{"AGENTS.md", agents_file("true")}});
  write_text(git_directory() / "info/attributes", "*.txt ident\n");
  write_text(git_directory() / "info/exclude", "hidden.txt\n");
  work(job, "new.txt", "$Id: mine $\n");
  work(job, "hidden.txt", "hidden\n");
  const std::string head = proposed_head(job);
  EXPECT_EQ(run("cat-file blob " + head + ":new.txt", repository), "$Id: mine $");
  EXPECT_TRUE(has_file(head, "hidden.txt"));
}

TEST_F(PlantedFiles, AttributesAndPatternsOfTheOwnerAreUsed) {  // A7, G12
  write_text(git_directory() / "info/attributes", "*.txt ident\n");
  write_text(git_directory() / "info/exclude", "hidden.txt\n");
  const Job job = begin({{"AGENTS.md", agents_file("true")}});
  write_text(git_directory() / "info/attributes", "");
  write_text(git_directory() / "info/exclude", "");
  work(job, "new.txt", "$Id: mine $\n");
  work(job, "hidden.txt", "hidden\n");
  const std::string head = proposed_head(job);
  EXPECT_EQ(run("cat-file blob " + head + ":new.txt", repository), "$Id$");
  EXPECT_FALSE(has_file(head, "hidden.txt"));
}

// Git doesn't compare the content of a file with its id when it reads it.
TEST_F(PlantedFiles, InstructionsThatAreReplacedInTheObjectsJudgeNothing) {  // A7
  const Job job = begin({{"AGENTS.md", agents_file("false")}});
  work(job, "AGENTS.md", agents_file("true"));
  commit_all(workspace_of(job), "mine");
  replace_object(run("rev-parse main:AGENTS.md", repository),
                 run("rev-parse HEAD:AGENTS.md", workspace_of(job)));
  const JobResult result = verify(job);
  EXPECT_EQ(result.failure.code, "REPOSITORY_DAMAGED") << result.result.summary;
  EXPECT_EQ(result.failure.error_class, ErrorClass::config);
  EXPECT_NE(result.failure.message.find("git -C " + repository.string() + " fsck"),
            std::string::npos)
      << result.failure.message;
}

TEST_F(PlantedFiles, ADirectoryThatIsReplacedInTheObjectsHidesNoChange) {  // A7
  const Job job =
      begin({{"AGENTS.md", agents_file("sh tools/check")}, {"tools/check", "exit 1\n"}});
  work(job, "tools/check", "exit 0\n");
  work(job, "new.txt", "new\n");
  commit_all(workspace_of(job), "mine");
  replace_object(run("rev-parse main:tools", repository),
                 run("rev-parse HEAD:tools", workspace_of(job)));
  const JobResult proposed = end_of(next(job, "create_pr"));
  EXPECT_EQ(proposed.failure.code, "REPOSITORY_DAMAGED") << proposed.result.summary;
}

// create_pr compares what was changed: it has only these names of what the checks call.
TEST_F(PlantedFiles, NoneOfTheCallsIsMissedBecauseOfAnotherDirectory) {  // A7
  const Job job = begin({{"AGENTS.md", agents_file("make test")},
                         {"Makefile", "test:\n\tsh scripts/run.sh\n"},
                         {"scripts/run.sh", "exit 1\n"},
                         {"docs/a.md", "a\n"},
                         {"other/b.md", "b\n"}});
  work(job, "scripts/run.sh", "exit 0\n");
  const std::string docs = run("rev-parse main:docs", repository);
  replace_object(docs, run("rev-parse main:other", repository));
  const JobResult forged = verify(job);
  EXPECT_EQ(forged.failure.code, "REPOSITORY_DAMAGED") << forged.result.summary;
  EXPECT_EQ(forged.failure.error_class, ErrorClass::config);
  fs::remove(object_file(docs));
  const JobResult missing = verify(job, {}, 2);
  EXPECT_EQ(missing.failure.code, "GIT_FAILED") << missing.result.summary;
  EXPECT_EQ(missing.failure.error_class, ErrorClass::transient);
}

TEST_F(PlantedFiles, ALinkThatIsReplacedInTheObjectsLeadsNowhereElse) {  // A7
  fs::create_symlink("tools/real", repository / "check");
  fs::create_symlink("tools/other", repository / "other");
  const Job job = begin({{"AGENTS.md", agents_file("sh check")},
                         {"tools/real", "exit 1\n"},
                         {"tools/other", "exit 0\n"}});
  work(job, "tools/real", "exit 0\n");
  replace_object(run("rev-parse main:check", repository), run("rev-parse main:other", repository));
  const JobResult result = verify(job);
  EXPECT_EQ(result.failure.code, "REPOSITORY_DAMAGED") << result.result.summary;
}

}  // namespace
}  // namespace signalbox
