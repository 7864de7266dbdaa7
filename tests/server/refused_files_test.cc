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

}  // namespace
}  // namespace signalbox
