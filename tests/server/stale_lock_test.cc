// Tests that git's locks which a killed station or removal leaves hold up no later one, and that
// those which may be a person's stay.
#include "server/git/left_out_refs.h"
#include "server/git/run_branch.h"
#include "tests/server/merge_fixture.h"
#include "tests/server/worktree_removal_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// Locks a ref of the repository as a git does that is about to move it to the commit.
fs::path lock_ref(const fs::path& repository, const std::string& ref,
                  const std::string& content = {}) {
  const fs::path lock = repository / ".git" / (ref + ".lock");
  fs::create_directories(lock.parent_path());
  write_text(lock, content);
  return lock;
}

TEST_F(WorktreeRemoval, IntakeMakesABranchThatAKilledOneHasLocked) {  // A17
  const Job job = builtin("intake");
  lock_ref(repository, "refs/heads/" + branch_of(job.run_id, job.run_token));
  const JobResult result = end_of(job);
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(run("status --porcelain", workspace_of(job)), "");
}

TEST_F(WorktreeRemoval, WorkIsKeptByARefThatAKilledRemovalHasLocked) {  // A1, A17
  const Job job = worktree();
  write_text(workspace_of(job) / "file.txt", "changed\n");
  lock_ref(repository, "refs/signalbox/rescue/" + to_string(job.run_id));
  const RemovalOutcome outcome = remove_worktree(request_for(job));
  ASSERT_EQ(outcome.result, Removal::removed) << outcome.reason;
  EXPECT_EQ(shown(outcome.rescue_ref + ":file.txt"), "changed\n");
}

TEST_F(WorktreeRemoval, TheRefOfTheBaseGoesAlthoughItIsLocked) {  // A15, A17
  const Job job = worktree();
  const std::string ref = base_ref_of(to_string(job.run_id));
  run("update-ref " + ref + " main", repository);
  const fs::path lock = lock_ref(repository, ref);
  ASSERT_EQ(remove_worktree(request_for(job)).result, Removal::removed);
  EXPECT_FALSE(git(repository, {"show-ref", "--verify", "--quiet", ref}).ok);
  EXPECT_FALSE(fs::exists(lock));
}

TEST_F(WorktreeRemoval, CommitsAreLeftOutUnderARefThatAKilledAttemptHasLocked) {  // A1, A17
  const std::string id = to_string(builtin("intake").run_id);
  lock_ref(repository, "refs/signalbox/rescue/" + id + "-branch");
  GitOptions there;
  there.place = GitPlace{repository / ".git", repository / ".git", repository, "/dev/null"};
  const auto kept = keep_left_out(repository, there, id, run("rev-parse main", repository));
  ASSERT_TRUE(kept.has_value()) << kept.error();
  EXPECT_EQ(left_out_refs(repository, {}, id)->size(), 1U);
}

class StaleLockOfARemote : public MergeStations {
 protected:
  // Locks the ref by which the run knows its remote's base.
  void lock_base_of(const Job& job) const {
    lock_ref(repository, base_ref_of(to_string(job.run_id)));
  }
};

TEST_F(StaleLockOfARemote, IntakeFetchesItsBaseAllTheSame) {  // A3, A17
  move_base("moved.txt", "moved\n");
  Job job = builtin("intake");
  job.base = "main";
  job.definition.remote = "origin";
  lock_base_of(job);
  const JobResult result = end_of(job);
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(content_of(workspace_of(job) / "moved.txt"), "moved\n") << result.result.summary;
}

TEST_F(StaleLockOfARemote, SoDoesAMerge) {  // A17, H11
  const std::string commit = verified("signalbox/x-7", "new.txt", "new\n");
  const Job merge = merge_of("signalbox/x-7", commit);
  lock_base_of(merge);
  const JobResult merged = end_of(merge);
  EXPECT_EQ(merged.outcome, Outcome::succeeded) << merged.failure.message;
}

// Pushes without a remote, of a merge that was made.
class PushIntoARepository : public MergeStations {
 protected:
  void SetUp() override {
    MergeStations::SetUp();
    with_remote = false;
    merge_ = merge_of("signalbox/x-7", verified("signalbox/x-7", "new.txt", "new\n"));
    const JobResult merged = end_of(merge_);
    ASSERT_EQ(merged.outcome, Outcome::succeeded) << merged.failure.message;
    head_ = run("rev-parse HEAD", workspace_of(merge_));
  }
  JobResult push() { return end_of(next(merge_, "push", ++attempts_)); }
  [[nodiscard]] std::string main() const { return run("rev-parse main", repository); }

  Job merge_;
  std::string head_;
  int attempts_ = 0;
};

TEST_F(PushIntoARepository, GoesOnWhereAnEarlierAttemptHasLockedTheBranch) {  // A17
  run("checkout --quiet -b elsewhere", repository);
  lock_ref(repository, "refs/heads/main", head_ + "\n");
  const JobResult pushed = push();
  ASSERT_EQ(pushed.outcome, Outcome::succeeded) << pushed.failure.message;
  EXPECT_EQ(main(), head_);
}

TEST_F(PushIntoARepository, LeavesALockThatMayBeAPersons) {  // A17
  run("checkout --quiet -b elsewhere", repository);
  const std::string before = main();
  for (const std::string& content : {std::string(), before + "\n"}) {
    const fs::path lock = lock_ref(repository, "refs/heads/main", content);
    const Failure failure = push().failure;
    EXPECT_EQ(failure.code, "GIT_FAILED");
    EXPECT_EQ(failure.error_class, ErrorClass::transient);
    EXPECT_NE(failure.message.find("main.lock"), std::string::npos) << failure.message;
    EXPECT_EQ(content_of(lock), content);
    EXPECT_EQ(main(), before);
  }
}

// git was killed after it had written the files and the index of the checkout.
TEST_F(PushIntoARepository, MovesTheBranchOnWhereOnlyThatIsLeftToDo) {  // A17
  run("read-tree -m -u HEAD " + head_, repository);
  lock_ref(repository, "refs/heads/main", head_ + "\n");
  ASSERT_NE(run("status --porcelain", repository), "");
  const JobResult pushed = push();
  ASSERT_EQ(pushed.outcome, Outcome::succeeded) << pushed.failure.message;
  EXPECT_EQ(main(), head_);
  EXPECT_EQ(run("status --porcelain", repository), "");
}

TEST_F(PushIntoARepository, DoesNotTakeChangesOfAPersonForItsOwn) {  // A17
  run("read-tree -m -u HEAD " + head_, repository);
  write_text(repository / "file.txt", "being edited\n");
  const std::string before = main();
  EXPECT_EQ(push().failure.code, "BASE_CHECKED_OUT");
  EXPECT_EQ(main(), before);
  EXPECT_EQ(content_of(repository / "file.txt"), "being edited\n");
}

// git was killed while it wrote the files of the checkout.
TEST_F(PushIntoARepository, SaysWhatToDoAboutALockedCheckout) {  // A17
  const fs::path lock = repository / ".git/index.lock";
  write_text(repository / "new.txt", "new\n");
  write_text(lock, "");
  const Failure failure = push().failure;
  EXPECT_EQ(failure.code, "REPOSITORY_BUSY");
  EXPECT_EQ(failure.error_class, ErrorClass::transient) << "a git of its owner soon ends";
  EXPECT_TRUE(fs::exists(lock)) << "it may be that of a git of its owner";
  std::vector<std::string> commands;
  for (std::size_t begin = failure.message.find('`'); begin != std::string::npos;) {
    const std::size_t end = failure.message.find('`', begin + 1);
    ASSERT_NE(end, std::string::npos) << failure.message;
    commands.push_back(failure.message.substr(begin + 1, end - begin - 1));
    begin = failure.message.find('`', end + 1);
  }
  ASSERT_EQ(commands.size(), 3U) << failure.message;
  for (const std::string& command : {commands[0], commands[1]}) {
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
  const JobResult pushed = push();
  ASSERT_EQ(pushed.outcome, Outcome::succeeded) << pushed.failure.message;
  EXPECT_EQ(main(), head_);
}

}  // namespace
}  // namespace signalbox
