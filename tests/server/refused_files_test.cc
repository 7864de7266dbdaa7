// Tests what create_pr does with files that git never adds.
#include "tests/server/agent_work_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

class RefusedFiles : public WorkOfAnAgent {
 protected:
  // Expects that create_pr fails for good, with git's words, and proposes the work once the file is
  // gone.
  void expect_refused_until_gone(const Job& job, const std::string& file,
                                 const std::string& words) {
    SCOPED_TRACE(file);
    const fs::path path = workspace_of(job);
    write_text(path / "file.txt", "two\n");
    const JobResult refused = end_of(next(job, "create_pr"));
    EXPECT_EQ(refused.failure.code, "FILE_REFUSED") << refused.failure.message;
    EXPECT_EQ(refused.failure.error_class, ErrorClass::terminal);
    EXPECT_NE(refused.failure.message.find(words), std::string::npos) << refused.failure.message;
    EXPECT_NE(refused.failure.message.find("` names the command"), std::string::npos);
    fs::remove_all(path / file);
    const JobResult result = end_of(next(job, "create_pr", 2));
    ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
    EXPECT_EQ(run("show HEAD:file.txt", path), "two");
  }
};

// Other systems would take them for the repository's own directory.
TEST_F(RefusedFiles, ANameThatGitNeverAddsIsNoTransientFailure) {  // A1
  for (const std::string name : {".GIT", "git~1"}) {
    const Job job = begun();
    fs::create_directories(workspace_of(job) / name);
    write_text(workspace_of(job) / name / "x", "x\n");
    expect_refused_until_gone(job, name, "invalid path '" + name + "/x'");
  }
}

TEST_F(RefusedFiles, NorIsContentThatItCantConvert) {  // A1
  write_text(repository / ".gitattributes", "*.utf16 working-tree-encoding=UTF-16\n");
  commit_all(repository, "attributes");
  const Job encoded = begun();
  write_text(workspace_of(encoded) / "a.utf16", "abc\n");
  expect_refused_until_gone(encoded, "a.utf16", "BOM is required in 'a.utf16'");

  write_text(repository / ".gitattributes", "*.crlf text eol=crlf\n");
  commit_all(repository, "attributes");
  run("config core.safecrlf true", repository);
  const Job ended = begun();
  write_text(workspace_of(ended) / "a.crlf", "a\nb\r\n");
  expect_refused_until_gone(ended, "a.crlf", "would be replaced by CRLF in a.crlf");
}

// It would be published as it is, such as a key in plain text.
TEST_F(RefusedFiles, NorIsAFileWhoseFilterIsNotSetUp) {  // A1
  write_text(repository / "old.key", "old\n");
  write_text(repository / ".gitattributes", "*.key filter=crypt\n");
  commit_all(repository, "attributes");
  for (const bool is_committed : {false, true}) {
    SCOPED_TRACE(is_committed);
    const Job job = begun();
    const fs::path path = workspace_of(job);
    write_text(path / "prod.key", "secret\n");
    run("add prod.key", path);
    if (is_committed) commit_all(path, "a key");
    const JobResult refused = end_of(next(job, "create_pr"));
    EXPECT_EQ(refused.failure.code, "FILE_REFUSED") << refused.failure.message;
    EXPECT_NE(refused.failure.message.find(" prod.key, "), std::string::npos)
        << refused.failure.message;
    const std::string pinned =
        (site.root() / "workspaces" / to_string(job.run_id) / "git/config").string();
    EXPECT_NE(refused.failure.message.find("`git config --file " + pinned +
                                           " filter.crypt.clean PROGRAM`"),
              std::string::npos)
        << refused.failure.message;
    EXPECT_NE(refused.failure.message.find("` names the command"), std::string::npos);
    if (is_committed) run("reset --quiet --soft main", path);
    run_git(repository, {"config", "--file", pinned, "filter.crypt.clean", "tr a-z A-Z"});
    const JobResult result = end_of(next(job, "create_pr", 2));
    ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
    EXPECT_EQ(run("show HEAD:prod.key", path), "SECRET");
    EXPECT_EQ(run("rev-list --count main..HEAD", path), "1");
  }
}

TEST_F(RefusedFiles, NorIsAMergeThatWasLeftInConflict) {  // A1
  const Job job = begun();
  const fs::path path = workspace_of(job);
  write_text(repository / "file.txt", "theirs\n");
  commit_all(repository, "theirs");
  write_text(path / "file.txt", "ours\n");
  commit_all(path, "ours");
  EXPECT_FALSE(git(path, {"-c", "user.name=t", "-c", "user.email=t@t", "merge", "main"}).ok);
  const JobResult refused = end_of(next(job, "create_pr"));
  EXPECT_EQ(refused.failure.code, "FILE_REFUSED") << refused.failure.message;
  EXPECT_NE(refused.failure.message.find("in: file.txt. "), std::string::npos)
      << refused.failure.message;
  write_text(path / "file.txt", "both\n");
  const JobResult result = end_of(next(job, "create_pr", 2));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(run("show HEAD:file.txt", path), "both");
}

}  // namespace
}  // namespace signalbox
