#include "server/runners/runner_removals.h"

#include "domain/nanoseconds.h"
#include "server/limits.h"

namespace signalbox {
namespace {

// A removal keeps work first, and gives it to the remote: that takes a while.
constexpr std::int64_t repeat_ns = 60 * ns_per_s;

}  // namespace

void RunnerRemovals::want(const CardWorktree& worktree, bool is_handed_on) {
  wanted_.insert_or_assign(worktree.run_id, Wanted{worktree, is_handed_on, std::nullopt});
}

std::vector<WorkspaceRemoval> RunnerRemovals::take_questions(const std::string& runner,
                                                             std::int64_t monotonic_ns) {
  std::vector<WorkspaceRemoval> questions;
  for (auto& [run_id, wanted] : wanted_) {
    if (questions.size() >= limits::runner_orders_max) break;
    if (wanted.worktree.runner != runner) continue;
    if (wanted.asked_ns && monotonic_ns - *wanted.asked_ns < repeat_ns) continue;
    wanted.asked_ns = monotonic_ns;
    questions.push_back({run_id, wanted.is_handed_on});
  }
  return questions;
}

void RunnerRemovals::ask_again(const std::string& runner) {
  for (auto& [run_id, wanted] : wanted_) {
    if (wanted.worktree.runner == runner) wanted.asked_ns.reset();
  }
}

std::optional<CardWorktree> RunnerRemovals::take(const std::string& runner, const RunId& run_id) {
  const auto place = wanted_.find(run_id);
  if (place == wanted_.end() || place->second.worktree.runner != runner) return std::nullopt;
  CardWorktree worktree = std::move(place->second.worktree);
  wanted_.erase(place);
  return worktree;
}

}  // namespace signalbox
