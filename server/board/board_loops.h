// The loops that work on the board: `heartbeat` starts the cards that the policies allow,
// `synthesizer` merges verified cards, `prune` removes runs that ended long ago from the world.
//
// All their decisions are commands of the domain; access to files happens on a blocking pool. All
// calls come from the engine thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>

#include "server/board/board_files.h"
#include "server/board/board_settings.h"
#include "server/board/worktree_keeper.h"
#include "server/engine/engine.h"
#include "server/platform/blocking_pool.h"
#include "server/platform/clock.h"
#include "server/scheduler/scheduled_loop.h"
#include "server/scheduler/service_loops.h"

namespace signalbox {

// The location of a project's policy.
struct PolicyLocation {
  std::string project;
  std::string repository;
  std::string base;

  friend bool operator==(const PolicyLocation&, const PolicyLocation&) = default;
};
// The result of reading a policy.
struct PolicyRead {
  PolicyLocation place;
  Stored<std::shared_ptr<const PolicyReading>> reading;
};

// Returns the run, which failed, as it was right before its failure at or before `position`, which
// is durable; without a run if it isn't known any more. Error: a sentence that says why nobody can
// tell: the card is left out of this tick. May block, but not for long; called on a thread of the
// blocking pool.
using FindFailedRun =
    std::function<tl::expected<FailedRun, std::string>(Position position, const RunId& run_id)>;

class BoardLoops final : public LoopGroup {
 public:
  struct Parts {
    Engine& engine;
    const Clock& clock;
    IdSource& ids;
    BlockingPool blocking;              // with a lane for each repository
    std::shared_ptr<BoardFiles> files;  // shared with work under way in the lanes
    RunsOver runs_over;
    FindFailedRun find_failed_run;
    // Logs a sentence for people: what was done, or, with `ok` false, what failed.
    std::function<void(bool ok, const std::string& text)> log;
    RemoveAtRunner remove_at_runner = nullptr;
  };

  // `mode` is written into coderunner stations whose project names none.
  BoardLoops(Parts parts, const BoardSettings& settings, CoderunnerMode mode);
  ~BoardLoops() override;

  [[nodiscard]] std::span<ScheduledLoop* const> loops() const override { return loops_; }
  void on_armed() override;
  void apply(std::span<const Record> records) override;

  // Begins a tick of the heartbeat now; if one is under way, another one follows it.
  // A runner has said what became of a worktree that it was to remove.
  void note_removed(const NoteWorktree& note) { worktrees_.note_removed(note); }
  void trigger_heartbeat(const std::string& reason) { heartbeat_.trigger(reason, /*again=*/true); }

 private:
  struct PolicyReads;

  void prepare(std::function<void(const Digest& policy_digest)> then);
  // Reads the policy of reads->places[place], and applies all of them once it is the last.
  void read_policy(const std::shared_ptr<PolicyReads>& reads, std::size_t place);
  void finish_reading(PolicyReads& reads);
  void apply_policy(const PolicyRead& read);
  void run_heartbeat(Token token, const ScheduledLoop::Ended& ended);
  // Starts cards, at most `most`, and ends the tick.
  void start_cards(Token token, std::size_t most, const ScheduledLoop::Ended& ended);
  // Starts the card, which goes on with `failed` if that can be reopened. Error: a sentence.
  tl::expected<void, std::string> start(const Card& card, FailedRun failed);
  // Looks for the run that the card is to go on with, starts the card, and goes on as start_cards()
  // does.
  void go_on(const Card& card, Token token, std::size_t most, const ScheduledLoop::Ended& ended);
  // Leaves the card, of which the latest event is at `changed_at`, out of this tick.
  void leave_out(const CardId& id, Position changed_at, const std::string& why);
  // Logs it if another run than `before`, with which the card was to go on, was started. `failed`
  // is what was found of that.
  void log_if_another_run(const CardId& id, const RunId& before, const FailedRun& failed) const;
  void synthesize(Token token, const ScheduledLoop::Ended& ended);
  void prune(Token token, const ScheduledLoop::Ended& ended);
  // Returns true if a tick of the heartbeat would start a card.
  [[nodiscard]] bool has_startable_card() const;
  // Returns whether the record lets a create_pr wait until it is tried again: its card takes no
  // place meanwhile (still_working()).
  [[nodiscard]] bool is_end_of_attempt_to_propose(const Record& record) const;
  // Returns whether the record says what became of the worktree that a card of the backlog has
  // waited for (waits_for_worktree()).
  [[nodiscard]] bool is_end_of_wait(const Record& record) const;
  // Fills in the run's id, digest and coderunner modes.
  void complete(StartRun& run);

  const Parts parts_;
  const std::int64_t prune_after_ms_;
  const CoderunnerMode coderunner_mode_;
  WorktreeKeeper worktrees_;
  ScheduledLoop heartbeat_;
  ScheduledLoop synthesizer_;
  ScheduledLoop prune_;
  const std::array<ScheduledLoop*, 3> loops_;
  std::set<CardId> left_out_;          // of the latest tick of the heartbeat
  std::map<CardId, Position> logged_;  // cards that were left out, by what they were then
};

}  // namespace signalbox
