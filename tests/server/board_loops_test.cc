// The loops that work on the board, without files: what one tick of the heartbeat starts.
#include "server/board/board_loops.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/server/board_site.h"

namespace signalbox {
namespace {

// Repositories without a policy file, whose worktrees are all there.
class KeptWorktrees final : public BoardFiles {
 public:
  Stored<std::shared_ptr<const PolicyReading>> read_policy(const std::filesystem::path&,
                                                           const std::string&,
                                                           std::int64_t) override {
    return std::make_shared<PolicyReading>();
  }
  NoteWorktree remove_worktree(const CardWorktree& worktree, bool) override {
    NoteWorktree note;
    note.project = worktree.project;
    note.run_id = worktree.run_id;
    note.removed = true;
    return note;
  }
  bool has_worktree(const CardWorktree&) override { return true; }
  tl::expected<std::set<std::string>, std::string> runs_with_worktrees(
      const std::filesystem::path&) override {
    return {};
  }
  tl::expected<std::vector<NoteWorktree>, std::string> remove_orphans(
      const std::string&, const std::filesystem::path&, const std::set<std::string>&) override {
    return {};
  }
};

class BoardLoopsTest : public BoardSite {
 protected:
  BoardLoopsTest() { EXPECT_EQ(code_of(put("web")), ""); }

  // Submits a card whose push fails, and unblocks it. Returns its id.
  std::string submit_unpushed() {
    const std::string id = submit("unpushed");
    start_next();
    work("implement", "failed",
         R"(,"error_class":"terminal","error_code":"PUSH_FAILED","error_message":"no route")");
    EXPECT_EQ(code_of(ask("card.unblock", R"({"card_id":")" + id + "\"}")), "");
    return id;
  }
  void tick() {
    board.trigger_heartbeat("the test wants it");
    settle();
  }
  std::string status_of(const std::string& id) {
    return std::string(card(id).at("status").as_string());
  }

  tl::expected<FailedRun, std::string> found = FailedRun{};
  std::vector<std::string> logged;
  BoardLoops board{
      {engine, clock, ids, BlockingPool(at_once, at_once), std::make_shared<KeptWorktrees>(),
       [](Position, const std::set<std::string>& run_ids) { return run_ids; },
       [this](Position, const RunId&) { return found; },
       [this](bool, const std::string& text) { logged.push_back(text); }},
      read_board_settings(BoardTexts{}).value(),
      CoderunnerMode::mock};
};

// Nobody may be able to tell for long, as while the read models are rebuilt.
TEST_F(BoardLoopsTest, ACardWhoseFailedRunIsUnreadableHoldsUpNoOther) {  // A9, H4
  const std::string unpushed = submit_unpushed();
  found = tl::unexpected(std::string("the disk is broken"));
  tick();
  EXPECT_EQ(event_types().back(), "TickSucceeded");
  const std::string said(why(unpushed).at("reasons").at(0).at("text").as_string());
  EXPECT_NE(said.find("leaves it out and logs why"), std::string::npos) << said;
  const std::string other = submit("another one");  // of the same lane
  tick();
  EXPECT_EQ(status_of(unpushed), "backlog");
  EXPECT_EQ(status_of(other), "running");
  ASSERT_EQ(logged.size(), 1U) << "it is logged once";
  EXPECT_EQ(logged.front(), "card " + unpushed + " isn't started yet: the disk is broken");

  work("implement", "failed",
       R"(,"error_class":"config","error_code":"CONFIG_MISSING","error_message":"x")");
  found = FailedRun{};
  tick();
  EXPECT_EQ(status_of(unpushed), "running");
  ASSERT_EQ(logged.size(), 2U);
  EXPECT_NE(logged.back().find("is done again by another run"), std::string::npos);
}

}  // namespace
}  // namespace signalbox
