// Tests what run_change() shows of a worktree while an agent works in it.
#include "server/board/run_change.h"

#include "tests/server/builtin_fixture.h"

namespace signalbox {
namespace {

class ChangeOfAWorktree : public BuiltinStations {
 protected:
  // Makes a run's worktree with the station intake; returns the job.
  Job begun() {
    const Job job = builtin("intake");
    const JobResult result = end_of(job);
    EXPECT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
    return job;
  }
  RunChange change_of(const Job& job) const {
    const RunChangePlace place{job.run_id, job.run_token, repository, workspace_of(job),
                               site.root() / "workspaces" / to_string(job.run_id)};
    const auto change = run_change(place, {});
    EXPECT_TRUE(change.has_value()) << change.error();
    return change && *change ? **change : RunChange{};
  }
};

TEST_F(ChangeOfAWorktree, RepositoriesInItAreNoObstacle) {  // A1, O2
  const Job job = begun();
  const std::filesystem::path workspace = workspace_of(job);
  write_text(workspace / "new.txt", "new\n");
  std::filesystem::create_directories(workspace / "vendor/fresh");
  run("init --quiet .", workspace / "vendor/fresh");
  write_text(workspace / "vendor/fresh/inner.txt", "inner\n");
  make_repository(workspace / "vendor/[other]", {{"inner.txt", "inner\n"}});
  write_text(workspace / "vendor/mine.txt", "mine\n");
  const RunChange change = change_of(job);
  EXPECT_EQ(change.source, "worktree");
  EXPECT_EQ(change.files, 2U) << change.part.text;
  EXPECT_NE(change.part.text.find("+new\n"), std::string::npos) << change.part.text;
  EXPECT_NE(change.part.text.find("+mine\n"), std::string::npos) << change.part.text;
  EXPECT_EQ(change.part.text.find("inner"), std::string::npos) << change.part.text;
  EXPECT_EQ(run("status --porcelain", workspace).find("A "), std::string::npos)
      << "the worktree's own index stays as it is";
}

TEST_F(ChangeOfAWorktree, TheScratchDirectoryOfChecksIsLeftOut) {  // O2
  const Job job = begun();
  std::filesystem::create_directories(workspace_of(job) / ".smoke-data");
  write_text(workspace_of(job) / ".smoke-data/cache", "noise\n");
  write_text(workspace_of(job) / "file.txt", "two\n");
  const RunChange change = change_of(job);
  EXPECT_EQ(change.files, 1U) << change.part.text;
  EXPECT_EQ(change.part.text.find("noise"), std::string::npos) << change.part.text;
}

class IndexOfAnAgent : public ChangeOfAWorktree {
 protected:
  static std::filesystem::path index_of(const Job& job) {
    return std::filesystem::path(run("rev-parse --absolute-git-dir", workspace_of(job))) / "index";
  }
  // Expects the change to be this file's alone.
  void expect_only(const Job& job, const std::string& line) const {
    const RunChange change = change_of(job);
    EXPECT_EQ(change.files, 1U) << change.part.text;
    EXPECT_NE(change.part.text.find(line), std::string::npos) << change.part.text;
  }
  std::string failure_of(const Job& job) const {
    const RunChangePlace place{job.run_id, job.run_token, repository, workspace_of(job),
                               site.root() / "workspaces" / to_string(job.run_id)};
    const auto change = run_change(place, {});
    return change ? std::string() : change.error();
  }
};

TEST_F(IndexOfAnAgent, IsNeitherWrittenNorLocked) {  // O2
  const Job job = begun();
  write_text(workspace_of(job) / "file.txt", "two\n");
  const std::filesystem::path lock = index_of(job).string() + ".lock";
  write_text(lock, "");  // of a git that works there now
  const std::string before = content_of(index_of(job));
  const auto time = std::filesystem::last_write_time(index_of(job));
  expect_only(job, "+two\n");
  EXPECT_EQ(content_of(index_of(job)), before);
  EXPECT_EQ(std::filesystem::last_write_time(index_of(job)), time);
  EXPECT_TRUE(std::filesystem::exists(lock));
}

// Without it, git would take a tracked file that .gitignore names for an ignored one.
TEST_F(IndexOfAnAgent, MayBeMissing) {  // A1, O2
  write_text(repository / "kept.log", "one\n");
  run("add --all", repository);
  write_text(repository / ".gitignore", "*.log\n");
  commit_all(repository, "a tracked file that is ignored");
  const Job job = begun();
  write_text(workspace_of(job) / "file.txt", "two\n");
  std::filesystem::remove(index_of(job));
  expect_only(job, "+two\n");
  EXPECT_FALSE(std::filesystem::exists(index_of(job)));
}

// Within one tick of the clock a file can be added and changed; git knows by the index's time.
TEST_F(IndexOfAnAgent, KeepsItsTimeInTheCopy) {  // O2
  run("config core.trustctime false", repository);
  const Job job = begun();
  const std::filesystem::path file = workspace_of(job) / "file.txt";
  run("add file.txt", workspace_of(job));
  const auto instant = std::filesystem::last_write_time(file);
  write_text(file, "two\n");
  std::filesystem::last_write_time(file, instant);
  std::filesystem::last_write_time(index_of(job), instant);
  expect_only(job, "+two\n");
}

TEST_F(IndexOfAnAgent, ThatIsNoneCountsAsMissing) {  // A1, O2
  const Job job = begun();
  write_text(workspace_of(job) / "file.txt", "two\n");
  const std::filesystem::path index = index_of(job);
  std::filesystem::remove(index);
  std::filesystem::create_symlink("/dev/zero", index);
  expect_only(job, "+two\n");
  EXPECT_TRUE(std::filesystem::is_symlink(index));
  std::filesystem::remove(index);
  write_text(index, "no index at all\n");
  expect_only(job, "+two\n");
  EXPECT_EQ(content_of(index), "no index at all\n");
  const auto pins = site.root() / "workspaces" / to_string(job.run_id);
  for (const auto& each : std::filesystem::directory_iterator(pins)) {
    EXPECT_FALSE(each.path().filename().string().starts_with("change-index")) << each.path();
  }
}

TEST_F(IndexOfAnAgent, ThatIsTooLargeIsNamed) {  // O2
  const Job job = begun();
  const std::filesystem::path index = index_of(job);
  std::filesystem::remove(index);
  write_text(index, "");
  std::filesystem::resize_file(index, std::uintmax_t{1} << 40);  // with nothing in it
  EXPECT_NE(failure_of(job).find("is larger than"), std::string::npos) << failure_of(job);
}

TEST_F(ChangeOfAWorktree, SoManyBytesAreShownAtOnce) {  // O2, P8
  const Job job = begun();
  const auto part_of = [&](std::size_t bytes) {
    write_text(workspace_of(job) / "large.txt", std::string(bytes, 'x') + "\n");
    return change_of(job).part;
  };
  const TextPart small = part_of(1000);
  const std::size_t around = small.text.size() - 1000;
  const TextPart whole = part_of(run_change_bytes_max - around);
  EXPECT_EQ(whole.text.size(), run_change_bytes_max);
  EXPECT_EQ(whole.next_offset, whole.end);
  const TextPart cut = part_of(run_change_bytes_max - around + 1);
  EXPECT_EQ(cut.end, run_change_bytes_max + 1);
  EXPECT_LT(cut.next_offset, cut.end);
  EXPECT_LE(cut.text.size(), run_change_bytes_max);
}

}  // namespace
}  // namespace signalbox
