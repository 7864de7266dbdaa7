#include "server/executors/builtin/builtin_intake.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "domain/try.h"
#include "server/executors/builtin/earlier_work.h"
#include "server/executors/builtin/intake_base.h"
#include "server/executors/builtin/run_worktree.h"
#include "server/executors/builtin/settled_base.h"
#include "server/git/git_command.h"
#include "server/git/git_names.h"
#include "server/git/hidden_files.h"
#include "server/git/ref_lock.h"
#include "server/git/repository_lock.h"
#include "server/git/run_branch.h"
#include "server/platform/atomic_file.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

constexpr const char* base_file = "base_commit";

// Returns the commit that an interrupted intake resolved; empty if there is none.
std::string resolved_base(const BuiltinRequest& request) {
  const std::string commit = read_settled(request, base_file);
  return is_object_id(commit) ? commit : std::string();
}

// Returns the base. It is resolved once and recorded, so that a repeated intake starts from the
// same commit.
tl::expected<IntakeBase, Failure> settle_base(const BuiltinRequest& request,
                                              const PinnedRepository& pinned) {
  if (is_object_id(pinned.facts().base_commit)) return IntakeBase{pinned.facts().base_commit, {}};
  if (std::string known = resolved_base(request); !known.empty()) {
    return IntakeBase{std::move(known), {}};
  }
  auto base = TRY(find_intake_base(request, pinned));
  if (auto written = write_settled(request, base_file, base.commit); !written) {
    return storage_failed(written.error().message);
  }
  return base;
}

// Returns whether the workspace is a complete worktree on the run's branch.
bool is_run_worktree(const BuiltinRequest& request, WorkspaceState found) {
  if (found != WorkspaceState::worktree) return false;
  const GitOutcome head = git(request.workspace, {"symbolic-ref", "--quiet", "HEAD"});
  return head.line() == "refs/heads/" + request.branch;
}

// Returns what add_worktree() says.
tl::expected<std::string, Failure> make_worktree(const BuiltinRequest& request,
                                                 PinnedRepository& pinned,
                                                 const std::string& base) {
  const auto lock = RepositoryLock::take(request.repository);
  if (!lock) return repository_busy(lock.error());
  const WorkspaceState found = inspect_workspace(request);
  if (is_run_worktree(request, found)) {
    // git's own lock isn't there any more, so the files are complete; nobody has worked in them.
    auto copied = pinned.is_recorded() ? tl::expected<void, std::string>()
                                       : pinned.pin_worktree_hooks(request.workspace);
    if (!copied) return storage_failed(copied.error());
    TRY(mark_worktree(request, pinned));
    return std::string();
  }
  TRY(clear_workspace(request, found));
  // Nobody has worked on the branch yet, and a git that makes it holds the repository's lock.
  remove_stale_lock(pinned.facts().common_directory, "refs/heads/" + request.branch);
  const bool branch_exists =
      git(request.repository, {"show-ref", "--verify", "--quiet", "refs/heads/" + request.branch})
          .ok;
  if (branch_exists) return add_worktree(request, pinned, {}, request.branch);
  auto made = add_worktree(request, pinned, {"-b", request.branch}, base);
  const std::string obstructing = std::string("refs/heads/") + obstructing_branch;
  if (!made && git(request.repository, {"show-ref", "--verify", "--quiet", obstructing}).ok) {
    return branches_obstructed(request, request.repository.string());
  }
  return made;
}

BuiltinOutcome make_empty_workspace(const BuiltinRequest& request) {
  if (auto made = make_directories(request.workspace); !made) {
    return storage_failed(made.error().message);
  }
  return BuiltinSuccess{"An empty workspace: the run has no repository.", ""};
}

}  // namespace

BuiltinOutcome builtin_intake(const BuiltinRequest& request) {
  if (auto made = make_directories(request.run_root); !made) {
    return storage_failed(made.error().message);
  }
  if (request.repository.empty()) return make_empty_workspace(request);
  TRY(check_repository(request));
  auto pinned = TRY(pin_repository(request));
  const auto base = TRY(settle_base(request, pinned));

  const std::string earlier = fetch_earlier_work(request, pinned);

  const std::string note = TRY(make_worktree(request, pinned, base.commit));
  std::string missing;
  if (!pinned.is_recorded()) {
    const auto place = TRY(workspace_place(request, pinned, {}));
    missing = complete_worktree(request, place);
    GitOptions there;
    there.place = place;
    const auto known = remember_left_out(request.workspace, there, request.pins);
    if (!known) return git_failed("cannot list what is left out of the checkout", known.error());
    if (auto done = pinned.record(base.commit, {}); !done) return storage_failed(done.error());
  }
  const boost::json::object metadata{{"base_commit", base.commit}, {"branch", request.branch}};
  return BuiltinSuccess{"A worktree of " + request.repository.string() + " on branch " +
                            request.branch + ", from " + base.commit.substr(0, 12) + "." +
                            base.note + earlier + note + missing,
                        boost::json::serialize(metadata)};
}

}  // namespace signalbox
