#include "tools/runner/runner_runs.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "domain/try.h"
#include "server/git/pinned_repository.h"
#include "server/git/run_branch.h"
#include "server/git/tree_removal.h"
#include "server/git/unsaved_work.h"
#include "server/git/worktree_removal.h"
#include "server/limits.h"
#include "server/platform/call_bounds.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours failed_kept{7 * 24};
// Each is a minute after the one before.
constexpr int pushes_max = 5;

// Gives the run's rescue ref to the remote, as a branch. Nothing of the repository's configuration
// is used but where the remote is: agents have worked in it. Blocks on git. Error: a sentence.
tl::expected<void, std::string> push_rescue_ref(const fs::path& pins, const fs::path& repository,
                                                const std::string& remote,
                                                const std::string& run_id) {
  const auto pinned = TRY(PinnedRepository::pin(pins, repository, ConfigTrust::nobodys));
  const GitOutcome pushed = pinned.in_repository(
      {"push", "--quiet", "--no-verify", "--", remote,
       "+" + rescue_ref_of(run_id) + ":refs/heads/" + rescue_branch_of(run_id)});
  (void)remove_tree(pins);
  if (!pushed.ok) return tl::unexpected("git push: " + pushed.message);
  return {};
}

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
    if (!over.contains(id) && !is_old) continue;
    if (remove(id, /*is_handed_on=*/false).removed) work_.forget_run(id);
  }
}

WorkspaceOutcome RunnerRuns::remove(const RunId& id, bool is_handed_on) {
  const CallBounds bounds(CallBounds::now_ms() + limits::worktree_removal_ms_max);
  const fs::path root = work_.runs() / to_string(id);
  WorkspaceOutcome done;
  done.path = (root / "workspace").string();
  const auto leave = [&](const std::string& why) {
    left_.insert(id);
    log_("the workspace of run " + to_string(id) + " stays in " + root.string() + ": " + why);
    done.reason = why;
    return done;
  };
  const auto placed = work_.placed(id);
  if (!placed) return leave(message_of(placed.error()));
  if (*placed) {
    RemovalRequest request;
    request.repository = (*placed)->repository;
    request.path = done.path;
    request.run_id = to_string(id);
    request.pins = work_.directory() / pins_directory_name / to_string(id);
    request.branch = (*placed)->branch;
    request.keeps_branch_work = is_handed_on;
    const RemovalOutcome outcome = remove_worktree(request);
    done.rescued = !outcome.rescue_ref.empty();
    if (done.rescued) {
      log_("work of run " + to_string(id) + " that was in no commit is kept in " +
           (*placed)->repository + " as " + outcome.rescue_ref);
    }
    if (outcome.result == Removal::left) return leave(outcome.reason);
  }
  if (const auto removed = remove_tree_atomically(root); !removed) return leave(removed.error());
  done.removed = true;
  left_.erase(id);
  return done;
}

std::optional<WorkspaceOutcome> RunnerRuns::remove(const WorkspaceRemoval& removal) {
  const RunId& id = removal.run_id;
  const auto placed = work_.placed(id);
  WorkspaceOutcome done = remove(id, removal.is_handed_on);
  if (!done.removed) return done;
  if (placed && *placed) {
    const std::string repository = (*placed)->repository;
    done.rescued = done.rescued || !existing_rescue_ref(repository, to_string(id)).empty();
    const std::string remote = (*placed)->remote.value_or("");
    if (removal.is_handed_on && done.rescued && !remote.empty()) {
      const auto pushed = push_rescue_ref(work_.directory() / pins_directory_name / "rescues",
                                          repository, remote, to_string(id));
      if (!pushed) {
        log_("work of run " + to_string(id) + " isn't at " + without_credentials(remote) + ": " +
             pushed.error());
        if (++unpushed_[id] < pushes_max) return std::nullopt;
        done.reason = "its work is only in " + repository + " there: " + pushed.error();
      }
    }
  }
  unpushed_.erase(id);
  return done;
}

void RunnerRuns::forget(const RunId& run_id) {
  if (!left_.contains(run_id)) work_.forget_run(run_id);
}

}  // namespace signalbox
