#include "server/board/worktree_keeper.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/followers/recorded_run.h"
#include "tests/server/board_site.h"

namespace signalbox {
namespace {

// Repositories in memory: which runs have a worktree, and whose were removed.
class ListedWorktrees final : public BoardFiles {
 public:
  Stored<std::shared_ptr<const PolicyReading>> read_policy(const std::filesystem::path&,
                                                           const std::string&,
                                                           std::int64_t) override {
    return std::make_shared<PolicyReading>();
  }
  NoteWorktree remove_worktree(const CardWorktree& worktree, bool is_handed_on) override {
    if (is_handed_on) handed_on.insert(to_string(worktree.run_id));
    return removed(worktree.project, to_string(worktree.run_id));
  }
  bool has_worktree(const CardWorktree& worktree) override {
    return there.contains(to_string(worktree.run_id));
  }
  tl::expected<std::set<std::string>, std::string> runs_with_worktrees(
      const std::filesystem::path&) override {
    return there;
  }
  tl::expected<std::vector<NoteWorktree>, std::string> remove_orphans(
      const std::string& project, const std::filesystem::path&,
      const std::set<std::string>& run_ids) override {
    std::vector<NoteWorktree> notes;
    for (const std::string& id : run_ids) notes.push_back(removed(project, id));
    return notes;
  }

  std::set<std::string> there;
  std::set<std::string> handed_on;

 private:
  NoteWorktree removed(const std::string& project, const std::string& id) {
    there.erase(id);
    NoteWorktree note;
    note.project = project;
    note.run_id = *parse_uuid(id);
    note.removed = true;
    return note;
  }
};

class WorktreeKeeperTest : public BoardSite {
 protected:
  WorktreeKeeperTest() { EXPECT_EQ(code_of(put("web")), ""); }

  // Starts a run that is no card's and has a worktree.
  std::string start() {
    const std::string run =
        start_run(R"({"goal":"g","pipeline":{"name":"p","station":[{"name":"alone"}]}})");
    files->there.insert(run);
    return run;
  }
  std::string end_run(const std::string& outcome) {
    const std::string run = start();
    work("alone", outcome);
    return run;
  }
  std::string retry(const std::string& run) {
    return code_of(ask("run.retry", R"({"run_id":")" + run + "\"}"));
  }
  // Does one piece of the work that waits for a thread; returns false if there is none.
  bool do_one() {
    if (lanes.empty()) return false;
    const auto action = std::move(lanes.front());
    lanes.pop_front();
    action();
    commit_all();
    return true;
  }
  void arm() {
    keeper.arm();
    while (do_one()) {
    }
  }

  std::deque<std::function<void()>> lanes;
  std::shared_ptr<ListedWorktrees> files = std::make_shared<ListedWorktrees>();
  std::vector<std::string> logged;
  WorktreeKeeper keeper{
      engine,
      BlockingPool([this](std::function<void()> action) { lanes.push_back(std::move(action)); },
                   at_once),
      files,
      [this](Position position, const std::set<std::string>& run_ids) {
        return runs_over(projector, position, run_ids);
      },
      [this](bool, const std::string& text) { logged.push_back(text); }};
};

TEST_F(WorktreeKeeperTest, ARunThatCanBeRetriedKeepsItsWorktree) {  // H6, A15
  const std::string failed = end_run("failed");
  arm();
  EXPECT_EQ(files->there, std::set{failed});
  EXPECT_EQ(retry(failed), "");
}

// Ended runs leave the world after an hour, and can be retried all the same.
TEST_F(WorktreeKeeperTest, SoDoesOneThatTheWorldHasForgotten) {  // H8, A15
  const std::string failed = end_run("failed");
  clock.advance_ms(2);
  take(PruneRuns{1});
  ASSERT_EQ(engine.world().ended_runs.find(*parse_uuid(failed)), nullptr);
  arm();
  EXPECT_EQ(files->there, std::set{failed});
}

TEST_F(WorktreeKeeperTest, ARetryWhileARepositoryIsSlowKeepsTheWorktree) {
  const std::string failed = end_run("failed");
  keeper.arm();
  ASSERT_TRUE(do_one());  // the worktrees are listed
  EXPECT_EQ(retry(failed), "");
  while (do_one()) {
  }
  EXPECT_EQ(files->there, std::set{failed});
}

TEST_F(WorktreeKeeperTest, OrphansAreRunsThatAreOverForGood) {  // H6
  end_run("succeeded");
  const std::string going_on = start();
  const std::string unknown = "00000000-0000-0000-0000-0000000000aa";
  files->there.insert(unknown);
  arm();
  EXPECT_EQ(files->there, std::set{going_on});
  EXPECT_EQ(event_types().back(), "WorktreeRemoved");
  EXPECT_TRUE(logged.empty());
}

// A card is tried again with another run.
TEST_F(WorktreeKeeperTest, AFailedRunOfACardIsAnOrphan) {  // H6
  submit("a change");
  const RunId run = start_next();
  work("implement", "failed");
  arm();
  ASSERT_FALSE(engine.world().worktrees.contains(run));
  files->there.insert(to_string(run));  // as if it couldn't be removed then
  arm();
  EXPECT_TRUE(files->there.empty());
}

// A person has to look into what no commit should hold.
TEST_F(WorktreeKeeperTest, ACardThatWaitsForALookKeepsItsWorktree) {  // A1
  const std::string card_id = submit("a change");
  const RunId run = start_next();
  files->there.insert(to_string(run));
  work("implement", "failed",
       R"(,"error_class":"terminal","error_code":"FILE_TOO_LARGE","error_message":"big.bin")");
  arm();
  EXPECT_EQ(files->there, std::set{to_string(run)});
  ask("card.block", R"({"card_id":")" + card_id + R"(","reason":"on holiday"})");
  arm();
  EXPECT_EQ(files->there, std::set{to_string(run)}) << "until the card is unblocked";
  ask("card.unblock", R"({"card_id":")" + card_id + "\"}");
  arm();
  EXPECT_TRUE(files->there.empty());
  EXPECT_EQ(files->handed_on, std::set{to_string(run)});
}

// Without its .git nothing can be kept of it, until a person has repaired that.
TEST_F(WorktreeKeeperTest, SoDoesACardWhoseWorktreeHasToBeRepaired) {  // A1
  const std::string card_id = submit("a change");
  const RunId run = start_next();
  files->there.insert(to_string(run));
  work("implement", "failed",
       R"(,"error_class":"config","error_code":"WORKSPACE_TAMPERED","error_message":".git")");
  arm();
  EXPECT_EQ(files->there, std::set{to_string(run)});
  ask("card.unblock", R"({"card_id":")" + card_id + "\"}");
  arm();
  EXPECT_TRUE(files->there.empty());
  EXPECT_EQ(files->handed_on, std::set{to_string(run)});
}

// Its run goes on in it, or another one replaces that.
TEST_F(WorktreeKeeperTest, ACardWhosePushFailedKeepsItUntilAnotherRunIsStarted) {  // A9
  const std::string card_id = submit("a change");
  const RunId run = start_next();
  files->there.insert(to_string(run));
  work("implement", "failed",
       R"(,"error_class":"terminal","error_code":"PUSH_FAILED","error_message":"no route")");
  arm();
  EXPECT_EQ(files->there, std::set{to_string(run)});
  ask("card.unblock", R"({"card_id":")" + card_id + "\"}");
  arm();
  EXPECT_EQ(files->there, std::set{to_string(run)});
  start_next();
  arm();
  EXPECT_TRUE(files->there.empty());
}

// The next run begins anew, so what this one left only takes space.
TEST_F(WorktreeKeeperTest, ACardWhosePushFailedLosesItOnceItIsUnblockedAfterABlock) {  // A9
  const std::string card_id = submit("a change");
  const RunId run = start_next();
  files->there.insert(to_string(run));
  work("implement", "failed",
       R"(,"error_class":"terminal","error_code":"PUSH_FAILED","error_message":"a key")");
  ask("card.block", R"({"card_id":")" + card_id + R"(","reason":"take it out"})");
  arm();
  EXPECT_EQ(files->there, std::set{to_string(run)});
  ask("card.unblock", R"({"card_id":")" + card_id + R"("})");
  arm();
  EXPECT_TRUE(files->there.empty());
}

// As after a kill: nothing but the log says that the worktree was to be removed.
TEST_F(WorktreeKeeperTest, ItsWorkIsHandedOnOnceTheCardIsUnblocked) {  // A1
  const std::string card_id = submit("a change");
  const RunId run = start_next();
  files->there.insert(to_string(run));
  work("implement", "failed",
       R"(,"error_class":"terminal","error_code":"NESTED_REPOSITORY","error_message":"vendor")");
  ask("card.unblock", R"({"card_id":")" + card_id + "\"}");
  EXPECT_EQ(next_to_start(engine.world()), nullptr);
  arm();
  EXPECT_TRUE(files->there.empty());
  EXPECT_EQ(files->handed_on, std::set{to_string(run)});
  EXPECT_NE(next_to_start(engine.world()), nullptr);
}

}  // namespace
}  // namespace signalbox
