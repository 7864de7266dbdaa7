#include "tools/runner/runner_runs.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "server/git/pinned_repository.h"
#include "server/git/tree_removal.h"
#include "server/git/worktree_removal.h"
#include "server/limits.h"
#include "server/platform/call_bounds.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours failed_kept{7 * 24};

}  // namespace

RunnerRuns::RunnerRuns(const RunnerWork& work, Log log) : work_(work), log_(std::move(log)) {}

std::vector<RunId> RunnerRuns::next(std::size_t count) {
  std::set<RunId> all;
  std::error_code unknown;
  for (const auto& entry : fs::directory_iterator(work_.runs(), unknown)) {
    if (const auto id = parse_uuid(entry.path().filename().string())) all.insert(*id);
  }
  std::vector<RunId> ids;
  for (auto each = all.upper_bound(latest_); each != all.end() && ids.size() < count; ++each) {
    ids.push_back(*each);
  }
  latest_ = ids.size() == count ? ids.back() : RunId{};
  return ids;
}

void RunnerRuns::remove(const std::vector<RunId>& asked, const std::set<RunId>& open,
                        const std::set<RunId>& over) {
  for (const RunId& id : asked) {
    if (open.contains(id) || left_.contains(id)) continue;
    std::error_code unknown;
    const auto touched = fs::last_write_time(work_.runs() / to_string(id), unknown);
    const bool is_old = !unknown && fs::file_time_type::clock::now() - touched > failed_kept;
    if (over.contains(id) || is_old) remove(id);
  }
}

void RunnerRuns::remove(const RunId& id) {
  const CallBounds bounds(CallBounds::now_ms() + limits::worktree_removal_ms_max);
  const fs::path root = work_.runs() / to_string(id);
  const auto leave = [&](const std::string& why) {
    left_.insert(id);
    log_("the workspace of run " + to_string(id) + " stays in " + root.string() + ": " + why);
  };
  const auto placed = work_.placed(id);
  if (!placed) return leave(message_of(placed.error()));
  if (*placed) {
    RemovalRequest request;
    request.repository = (*placed)->repository;
    request.path = root / "workspace";
    request.run_id = to_string(id);
    request.pins = work_.directory() / pins_directory_name / to_string(id);
    request.branch = (*placed)->branch;
    const RemovalOutcome outcome = remove_worktree(request);
    if (!outcome.rescue_ref.empty()) {
      log_("work of run " + to_string(id) + " that was in no commit is kept in " +
           (*placed)->repository + " as " + outcome.rescue_ref);
    }
    if (outcome.result == Removal::left) return leave(outcome.reason);
  }
  if (const auto removed = remove_tree_atomically(root); !removed) return leave(removed.error());
  work_.forget_run(id);
}

}  // namespace signalbox
