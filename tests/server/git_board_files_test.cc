// Tests what GitBoardFiles records of a worktree whose run has ended.
#include "server/board/git_board_files.h"

#include <set>

#include "tests/server/builtin_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

class WorktreesOfTheBoard : public BuiltinStations {
 protected:
  // Makes a run's worktree with the station intake; returns the run.
  RunId begun() {
    const Job job = builtin("intake");
    const JobResult result = end_of(job);
    EXPECT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
    return job.run_id;
  }
  [[nodiscard]] fs::path workspace(const RunId& run_id) const {
    return site.root() / "runs" / to_string(run_id) / "workspace";
  }
  [[nodiscard]] NoteWorktree removal_of(const RunId& run_id, const fs::path& runs) const {
    return GitBoardFiles(runs).remove_worktree({run_id, "web", repository.string()}, false);
  }
};

TEST_F(WorktreesOfTheBoard, AreFoundBelowALink) {  // A15, H6
  const RunId run_id = begun();
  fs::create_directory_symlink(site.root(), site.root() / "link");
  const NoteWorktree note = removal_of(run_id, site.root() / "link" / "runs");
  EXPECT_TRUE(note.removed) << note.reason;
  EXPECT_NE(note.path, "");
  EXPECT_FALSE(fs::exists(workspace(run_id)));
}

TEST_F(WorktreesOfTheBoard, AreLeftWhileTheirRepositoryIsAway) {  // A1
  const RunId run_id = begun();
  fs::rename(repository, site.root() / "away");
  const NoteWorktree note = removal_of(run_id, site.root() / "runs");
  EXPECT_FALSE(note.removed) << "nobody knows what is in it";
  EXPECT_NE(note.reason, "");
  fs::rename(site.root() / "away", repository);
  EXPECT_TRUE(removal_of(run_id, site.root() / "runs").removed);
  EXPECT_FALSE(fs::exists(workspace(run_id)));
}

// A server that starts lists them while an intake of before goes on, with what it has pinned and
// not recorded yet.
TEST_F(WorktreesOfTheBoard, AreListedWithoutALookIntoThem) {  // H6
  const RunId run_id = begun();
  const fs::path pins = site.root() / "workspaces" / to_string(run_id);
  fs::remove(pins / "workspace.json");
  write_text(pins / "of-the-intake", "");
  const auto listed = GitBoardFiles(site.root() / "runs").runs_with_worktrees(repository);
  ASSERT_TRUE(listed.has_value()) << listed.error();
  EXPECT_EQ(*listed, std::set<std::string>{to_string(run_id)});
  EXPECT_TRUE(fs::exists(pins / "of-the-intake"));
}

// As after a kill before the removal was recorded.
TEST_F(WorktreesOfTheBoard, AreRecordedWithTheirRescueRefAgain) {  // A1
  const RunId run_id = begun();
  write_text(workspace(run_id) / "file.txt", "mine\n");
  const NoteWorktree first = removal_of(run_id, site.root() / "runs");
  EXPECT_EQ(first.rescue_ref, "refs/signalbox/rescue/" + to_string(run_id)) << first.reason;
  const NoteWorktree again = removal_of(run_id, site.root() / "runs");
  EXPECT_TRUE(again.removed);
  EXPECT_EQ(again.rescue_ref, first.rescue_ref);
}

}  // namespace
}  // namespace signalbox
