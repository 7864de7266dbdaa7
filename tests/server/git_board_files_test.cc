// Tests what GitBoardFiles records of a worktree whose run has ended.
#include "server/board/git_board_files.h"

#include <memory>
#include <set>

#include "server/executors/job_directory.h"
#include "server/text/utf8_text.h"
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
    return GitBoardFiles(runs, live_jobs(site.root() / "jobs"))
        .remove_worktree({run_id, "web", repository.string()}, false);
  }
  // Returns the files of a server in whose log the runs were given to this machine, or to its own
  // if the text is empty.
  [[nodiscard]] std::unique_ptr<GitBoardFiles> files_after(const std::string& machine) const {
    return std::make_unique<GitBoardFiles>(
        site.root() / "runs", live_jobs(site.root() / "jobs"),
        [machine](const RunId&) -> tl::expected<std::string, std::string> { return machine; });
  }
  // Makes the disk of the data directory that of another server, or brings the first one back.
  void exchange_disk() {
    for (const char* part : {"runs", "workspaces"}) {
      const fs::path here = site.root() / part;
      const fs::path there = site.root() / (std::string(part) + "-of-the-other");
      fs::create_directories(there);
      fs::rename(here, site.root() / "between");
      fs::rename(there, here);
      fs::rename(site.root() / "between", there);
    }
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

// Git lists it before the run's own.
TEST_F(WorktreesOfTheBoard, AreNotThoseThatAnAgentMadeBesideThem) {  // A1
  const RunId run_id = begun();
  run("worktree add --quiet --detach ../base", workspace(run_id));
  const NoteWorktree note = removal_of(run_id, site.root() / "runs");
  EXPECT_TRUE(note.removed) << note.reason;
  EXPECT_EQ(fs::path(note.path).filename(), "workspace");
  EXPECT_FALSE(fs::exists(workspace(run_id)));
  EXPECT_TRUE(fs::exists(workspace(run_id).parent_path() / "base"));
}

// What is noted comes into the log, and in JSON to clients.
TEST_F(WorktreesOfTheBoard, AreNotedAsTextWhateverIsInThem) {  // A1, G1
  const RunId run_id = begun();
  const auto expect_text = [](const NoteWorktree& note, const std::string& what) {
    EXPECT_FALSE(note.removed);
    EXPECT_NE(note.reason.find(what), std::string::npos) << note.reason;
    EXPECT_TRUE(is_utf8(note.path + note.reason)) << note.path << note.reason;
  };
  make_repository(workspace(run_id) / "caf\xe9");
  expect_text(removal_of(run_id, site.root() / "runs"), "caf?/ is a git repository of its own");
  fs::remove_all(workspace(run_id) / "caf\xe9");

  const fs::path library = make_repository(workspace(run_id) / "l\xe9", {{"lib.txt", "lib\n"}});
  const fs::path inner = make_repository(library / "i\xe9", {{"inner.txt", "inner\n"}});
  const auto declare = [](const fs::path& directory, const std::string& link) {
    run("config --file .gitmodules submodule.x.path " + link, directory);
    run("config --file .gitmodules submodule.x.url ./" + link, directory);
    commit_all(directory, "a submodule");
  };
  declare(library, "i\xe9");
  declare(workspace(run_id), "l\xe9");
  expect_text(removal_of(run_id, site.root() / "runs"), "submodule l? has commits");
  run("update-ref refs/remotes/origin/main HEAD", library);
  run("checkout --quiet -b mine", inner);
  commit_all(inner, "mine");
  run("checkout --quiet main", inner);
  expect_text(removal_of(run_id, site.root() / "runs"), "has a submodule i?, which has");

  const RunId other = begun();
  write_text(workspace(other) / ".gitignore", "trees/\n");
  commit_all(workspace(other), "ignore");
  run("worktree add --quiet --detach ../\xff", workspace(other));
  run("worktree add --quiet --detach trees/\xff", workspace(other));
  write_text(workspace(other) / "trees/\xff/file.txt", "precious");
  expect_text(removal_of(other, site.root() / "runs"), "the worktree trees/? in it has work");
  GitBoardFiles files(site.root() / "runs", live_jobs(site.root() / "jobs"));
  write_text(workspace(other) / "../\xff/file.txt", "precious");
  const auto orphans = files.remove_orphans("web", repository, {to_string(other)});
  ASSERT_TRUE(orphans.has_value()) << orphans.error();
  ASSERT_EQ(orphans->size(), 2U);
  for (const NoteWorktree& each : *orphans) expect_text(each, "it has uncommitted work");
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
  const auto listed = GitBoardFiles(site.root() / "runs", live_jobs(site.root() / "jobs"))
                          .runs_with_worktrees(repository);
  ASSERT_TRUE(listed.has_value()) << listed.error();
  EXPECT_EQ(*listed, std::set<std::string>{to_string(run_id)});
  EXPECT_TRUE(fs::exists(pins / "of-the-intake"));
}

// As after an older log was restored: it doesn't have the run, whose agent goes on.
TEST_F(WorktreesOfTheBoard, AreLeftWhileAJobIsUnderWayInThem) {  // H6, G11
  const RunId run_id = begun();
  const fs::path until = site.root() / "until";
  Job agent = site.shell_job("until [ -e " + until.string() + " ]; do sleep 0.02; done");
  agent.run_id = run_id;
  agent.id = to_string(run_id) + "-implement-1";
  agent.run_root = workspace(run_id).parent_path().string();
  const auto executor = site.executor();
  ASSERT_TRUE(executor->submit(agent).has_value());
  ASSERT_EQ(executor->poll(agent).value(), JobState::running);

  GitBoardFiles files(site.root() / "runs", live_jobs(site.root() / "jobs"));
  const std::set<std::string> over{to_string(run_id)};
  const auto left = files.remove_orphans("web", repository, over);
  ASSERT_TRUE(left.has_value()) << left.error();
  ASSERT_EQ(left->size(), 1U);
  EXPECT_FALSE(left->front().removed);
  EXPECT_EQ(left->front().reason, "a job of its run is under way");
  EXPECT_TRUE(fs::exists(workspace(run_id) / "file.txt"));

  write_text(until, "");
  ASSERT_TRUE(is_finished(*executor, agent));
  const auto gone = files.remove_orphans("web", repository, over);
  ASSERT_TRUE(gone.has_value()) << gone.error();
  ASSERT_EQ(gone->size(), 1U);
  EXPECT_TRUE(gone->front().removed) << gone->front().reason;
  EXPECT_FALSE(fs::exists(workspace(run_id)));
}

// The servers of a cell may share a repository, and the names of their directories.
TEST_F(WorktreesOfTheBoard, AreLeftWhereAnotherServerHasThem) {  // A1, K13
  const RunId run_id = begun();
  write_text(workspace(run_id) / "file.txt", "mine\n");
  exchange_disk();
  const auto files = files_after("machine-a");
  const CardWorktree worktree{run_id, "web", repository.string()};
  const NoteWorktree note = files->remove_worktree(worktree, false);
  EXPECT_FALSE(note.removed);
  EXPECT_NE(note.reason.find("machine-a"), std::string::npos) << note.reason;
  EXPECT_NE(note.path, "");
  const auto orphans = files->remove_orphans("web", repository, {to_string(run_id)});
  ASSERT_TRUE(orphans.has_value()) << orphans.error();
  ASSERT_EQ(orphans->size(), 1U);
  EXPECT_FALSE(orphans->front().removed);
  EXPECT_EQ(orphans->front().reason, note.reason);

  exchange_disk();
  EXPECT_EQ(run("status --porcelain", workspace(run_id)), " M file.txt") << "git knows it still";
  const NoteWorktree later = files->remove_worktree(worktree, false);
  EXPECT_TRUE(later.removed) << "it is on this disk, whatever machine made it: " << later.reason;
  EXPECT_NE(later.rescue_ref, "");
}

TEST_F(WorktreesOfTheBoard, AreLeftWhereNobodyCanTellWhoseTheyAre) {  // K13
  GitBoardFiles files(site.root() / "runs", live_jobs(site.root() / "jobs"),
                      [](const RunId&) -> tl::expected<std::string, std::string> {
                        return tl::unexpected(std::string("the read models stay behind the log"));
                      });
  const RunId run_id = begun();
  const CardWorktree worktree{run_id, "web", repository.string()};
  EXPECT_TRUE(files.remove_worktree(worktree, false).removed) << "it is here";
  const NoteWorktree again = files.remove_worktree(worktree, false);
  EXPECT_FALSE(again.removed);
  EXPECT_EQ(again.reason, "the read models stay behind the log");
  EXPECT_TRUE(files_after({})->remove_worktree(worktree, false).removed) << "it was here";
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
