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
#include "store/directory_listing.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours failed_kept{7 * 24};
constexpr int pushes_max = 5;
constexpr std::chrono::seconds push_pause{55};

// Returns what to add to why a push has failed: the clone may have worked with a program of its own
// configuration so far.
std::string unused_programs(const PinnedRepository& pinned) {
  const auto& programs = pinned.facts().programs;
  const bool has_own = std::any_of(programs.begin(), programs.end(), [](const std::string& each) {
    return each.starts_with("core.sshcommand\n") || each.starts_with("credential.");
  });
  if (!has_own) return {};
  return "; the ssh command and the credential helpers that only the clone's configuration names "
         "aren't used for this, since an agent may have written them: name them in that of the "
         "runner's user (~/.ssh/config, git config --global)";
}

// Gives the run's rescue ref to the remote, as a branch that nobody else has changed. Nothing of
// the repository's configuration is used but where the remote is: agents have worked in it. Blocks
// on git. Error: a sentence.
tl::expected<void, std::string> push_rescue_ref(const fs::path& pins, const fs::path& repository,
                                                const std::string& remote,
                                                const std::string& run_id) {
  const auto pinned = TRY(PinnedRepository::pin(pins, repository, ConfigTrust::nobodys));
  GitOptions options;
  options.timeout_ms = limits::remote_refs_ms_max;
  const GitOutcome pushed =
      pinned.in_repository({"push", "--quiet", "--no-verify", "--", remote,
                            rescue_ref_of(run_id) + ":refs/heads/" + rescue_branch_of(run_id)},
                           options);
  (void)remove_tree(pins);
  if (!pushed.ok) return tl::unexpected("git push: " + pushed.message + unused_programs(pinned));
  return {};
}

}  // namespace

RunnerRuns::RunnerRuns(const RunnerWork& work, HoldJobs hold_jobs, Log log)
    : work_(work), hold_jobs_(std::move(hold_jobs)), log_(std::move(log)) {}

std::vector<RunId> RunnerRuns::next(std::size_t count) {
  std::set<RunId> all;
  std::error_code unknown;
  for (const auto& entry : list_directory(work_.runs(), unknown)) {
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
    if (open.contains(id)) {
      work_.forget_failure(id);
      continue;
    }
    if (left_.contains(id)) continue;
    const auto held = hold_jobs_(id);
    if (!held) continue;
    if (!over.contains(id) && work_.failed_for(id) <= failed_kept) continue;
    if (remove(id, /*is_handed_on=*/false).removed) work_.forget_run(id);
  }
}

WorkspaceOutcome RunnerRuns::remove(const RunId& id, bool is_handed_on) {
  const CallBounds bounds(CallBounds::now_ms() + limits::worktree_removal_ms_max, &stopped_);
  const fs::path root = work_.runs() / to_string(id);
  WorkspaceOutcome done;
  done.path = (root / "workspace").string();
  const auto leave = [&](const std::string& why) {
    left_.insert(id);
    log_(/*ok=*/false,
         "the workspace of run " + to_string(id) + " stays in " + root.string() + ": " + why);
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
      log_(/*ok=*/true, "work of run " + to_string(id) + " that was in no commit is kept in " +
                            (*placed)->repository + " as " + outcome.rescue_ref);
    }
    if (outcome.result == Removal::left) return leave(outcome.reason);
  }
  std::error_code unknown;
  const bool is_there =
      fs::exists(fs::symlink_status(root, unknown));  // else it was removed before
  const auto removed =
      is_there ? remove_tree_atomically(root) : remove_tree(pending_delete_path(root));
  if (!removed) return leave(removed.error());
  done.removed = true;
  left_.erase(id);
  return done;
}

std::optional<WorkspaceOutcome> RunnerRuns::remove(const WorkspaceRemoval& removal) {
  const RunId& id = removal.run_id;
  const auto now = std::chrono::steady_clock::now();
  const auto failed = pushes_.find(id);
  if (failed != pushes_.end() && now < failed->second.not_before) return std::nullopt;
  auto held = hold_jobs_(id);
  if (!held) return std::nullopt;
  const auto placed = work_.placed(id);
  WorkspaceOutcome done = remove(id, removal.is_handed_on);
  held.reset();                                        // its remote may be slow
  if (stopped_ && !done.removed) return std::nullopt;  // it was cut short
  if (!done.removed || !placed || !*placed) return done;
  const std::string& repository = (*placed)->repository;
  const std::string remote = (*placed)->remote.value_or("");
  done.rescued = done.rescued || !existing_rescue_ref(repository, to_string(id)).empty();
  if (!removal.is_handed_on || !done.rescued || remote.empty()) return done;
  const CallBounds bounds(CallBounds::never_ms, &stopped_);
  const auto pushed = push_rescue_ref(work_.directory() / pins_directory_name / "rescues",
                                      repository, remote, to_string(id));
  if (stopped_) return std::nullopt;
  if (!pushed) {
    log_(/*ok=*/false, "work of run " + to_string(id) + " isn't at " + without_credentials(remote) +
                           ": " + pushed.error());
    Push& push = pushes_[id];
    push.not_before = now + push_pause;
    if (++push.failures < pushes_max) return std::nullopt;
    done.removed = false;
    done.reason = "it is gone, and its work is only in " + repository + " there, as " +
                  rescue_ref_of(to_string(id)) + ": " + pushed.error();
  }
  pushes_.erase(id);
  return done;
}

void RunnerRuns::forget(const RunId& run_id) {
  const auto held = hold_jobs_(run_id);
  if (held && !left_.contains(run_id)) work_.forget_run(run_id);
}

}  // namespace signalbox
