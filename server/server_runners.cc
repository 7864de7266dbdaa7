// The service's side of the runners: what their methods need, and the watch over their leases.
#include <chrono>

#include "domain/nanoseconds.h"
#include "server/board/git_board_files.h"
#include "server/executors/job_directory.h"
#include "server/followers/recorded_run.h"
#include "server/git/tree_removal.h"
#include "server/git/unsaved_work.h"
#include "server/rpc/methods/families.h"
#include "server/server.h"

namespace signalbox {
namespace {

constexpr std::chrono::seconds runner_sweep{1};

}  // namespace

void Server::wire_runners() {
  api_.why_no_runner = [this](const Run& run) {
    return signalbox::why_no_runner(run, runners_.list(clock_.monotonic_ns()));
  };
  api_.fetch_output = [this](const std::string& runner, const std::string& job_id,
                             const std::function<void(bool is_newest)>& then) {
    if (!runners_.want_output(runner, job_id)) return then(false);
    runner_outputs_.wait(job_id, clock_.monotonic_ns() + limits::runner_output_ms_max * ns_per_ms,
                         then);
  };
}

std::shared_ptr<RunnerParts> Server::runner_parts() {
  RunnerParts parts;
  parts.registry = &runners_;
  parts.queue = &runner_queue_;
  parts.outputs = &runner_outputs_;
  parts.removals = &runner_removals_;
  parts.note_worktree = [this](NoteWorktree note, bool rescued) {
    if (rescued) note.rescue_ref = rescue_ref_of(to_string(note.run_id));
    board_.note_removed(note);
  };
  if (artifacts_.objects() != nullptr) runner_queue_.want_bundles();
  parts.jobs = config_.data / "jobs";
  parts.key = job_key_;
  parts.uploads = config_.data / "uploads";
  // In a cell no other service can still have the log.
  if (machine_ && cell_ == nullptr) runners_.expect_former_jobs(machine_->since);
  runners_.restore(engine_.world());
  former_decisions_.enforce();
  (void)remove_tree(parts.uploads);  // what an earlier process left is uploaded again
  parts.look_again = [this](const std::string& job_id, const std::string& undelivered) {
    if (undelivered.empty()) {
      job_troubles_.forget(job_id);  // its runner answers
    } else if (const std::string why = "its runner can't send its result: " + undelivered;
               job_troubles_.note(job_id, {why, clock_.wall_ns()})) {
      logger_.warn("job {}: {}", job_id, why);
    }
    if (jobs_) jobs_->look_again(job_id);
  };
  parts.offers_changed = [this] { schedule_turn(); };
  parts.undo_unrecorded = [this](const std::string& runner, bool evicted) {
    if (!former_decisions_.undo(runner, evicted)) return false;
    schedule_turn();
    return true;
  };
  return std::make_shared<RunnerParts>(std::move(parts));
}

FormerDecisions::Parts Server::former_decisions_parts() {
  return {config_.data / "runners.json", engine_,
          [this](const std::string& runner, bool evicted, bool holds) {
            if (evicted) {
              runners_.evict(runner, holds);
            } else {
              runners_.drain(runner, holds);
            }
          },
          logger_, [this](int exit_code, const std::string& why) { fail(exit_code, why); }};
}

RemoveAtRunner Server::removal_at_runner() {
  return [this](const CardWorktree& worktree, bool is_handed_on) {
    // Here a card's next run would find the branch. It may be given to another runner, and may have
    // begun already.
    const EndedRun* const ended = engine_.world().ended_runs.find(worktree.run_id);
    const bool has_succeeded = ended != nullptr && ended->status == RunStatus::succeeded;
    runner_removals_.want(worktree, is_handed_on || !has_succeeded);
    runners_.expect(worktree.runner);
    runner_queue_.wake(worktree.runner);
  };
}

std::shared_ptr<BoardFiles> Server::board_files() {
  return std::make_shared<GitBoardFiles>(
      config_.data / "runs", live_jobs(config_.data / "jobs"),
      [this](const RunId& run_id) -> tl::expected<std::string, std::string> {
        if (!machine_) return std::string();
        return other_machine_of(projector_, log_, machine_->id, run_id);
      });
}

// Also those of worktrees that are kept for a card: it can't go on with its run.
void Server::abandon_worktrees() {
  const World& world = engine_.world();
  std::vector<CardWorktree> gone;
  for (const auto& [run_id, worktree] : world.worktrees) {
    if (worktree.runner.empty() || world.find_run(run_id) != nullptr) continue;
    const auto runner = runners_.get(worktree.runner, clock_.monotonic_ns());
    if (runner && runner->state == RunnerState::evicted) gone.push_back(worktree);
  }
  for (const CardWorktree& each : gone) {
    (void)runner_removals_.take(each.runner, each.run_id);
    NoteWorktree note;
    note.project = each.project;
    note.run_id = each.run_id;
    note.path = each.runner;
    note.reason = each.runner + " was evicted, and has it in runs/" + to_string(each.run_id) +
                  " of its work directory";
    board_.note_removed(note);
  }
}

void Server::sweep_runners() {
  if (!acts()) return;
  check_clocks();
  const std::int64_t now_ns = clock_.monotonic_ns();
  if (!is_cell_away_) {  // runners are refused then, and get their full lease again afterwards
    const bool changed =
        runners_.sweep(now_ns, [this](const std::string& runner, const std::string& job_id) {
          return runner_queue_.is_wanted(runner, job_id);
        });
    if (changed) schedule_turn();
    abandon_worktrees();
    untold_usage_.try_again();
  }
  runner_queue_.sweep(now_ns);
  runner_outputs_.sweep(now_ns);
  runner_timer_.expires_after(runner_sweep);
  runner_timer_.async_wait([this](const boost::system::error_code& replaced) {
    if (!replaced) sweep_runners();
  });
}

}  // namespace signalbox
