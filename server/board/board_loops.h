// The loops that work on the board: `heartbeat` starts what the policies let start, `synthesizer`
// merges what was verified, `prune` forgets runs that ended long ago.
//
// Everything that they decide is a command of the domain; what touches files is done on a thread
// that may block. All calls come from the engine's thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
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

// Where a project's policy lies, and what was found there.
struct PolicyPlace {
  std::string project;
  std::string repository;
  std::string base;

  friend bool operator==(const PolicyPlace&, const PolicyPlace&) = default;
};
struct PolicyRead {
  PolicyPlace place;
  Stored<std::shared_ptr<const PolicyReading>> reading;
};

class BoardLoops final : public LoopGroup {
 public:
  struct Parts {
    Engine& engine;
    const Clock& clock;
    IdSource& ids;
    BlockingPool blocking;              // of one thread: what is asked first is done first
    std::shared_ptr<BoardFiles> files;  // that thread's, for as long as it needs it
    // For people: what went wrong, and `false`; or what was done.
    std::function<void(bool ok, const std::string& text)> log;
  };

  // `mode` is pinned in coderunner stations of projects that name none.
  BoardLoops(Parts parts, const BoardSettings& settings, CoderunnerMode mode);
  ~BoardLoops() override;

  [[nodiscard]] std::span<ScheduledLoop* const> loops() const override { return loops_; }
  void on_armed() override;
  void apply(std::span<const Record> records) override;

  // Begins a tick of the heartbeat now; while one is under way another one follows it.
  void trigger_heartbeat(const std::string& reason) { heartbeat_.trigger(reason, /*again=*/true); }

 private:
  void prepare(std::function<void(const Digest& policy_digest)> then);
  void apply_policy(const PolicyRead& read);
  void beat(Token token, const ScheduledLoop::Ended& ended);
  void synthesize(Token token, const ScheduledLoop::Ended& ended);
  void prune(Token token, const ScheduledLoop::Ended& ended);
  // Whether a tick of the heartbeat would start something.
  [[nodiscard]] bool has_something_to_start() const;
  void complete(StartRun& run);

  const Parts parts_;
  const std::int64_t prune_after_ms_;
  const CoderunnerMode coderunner_mode_;
  WorktreeKeeper worktrees_;
  ScheduledLoop heartbeat_;
  ScheduledLoop synthesizer_;
  ScheduledLoop prune_;
  const std::array<ScheduledLoop*, 3> loops_;
};

}  // namespace signalbox
