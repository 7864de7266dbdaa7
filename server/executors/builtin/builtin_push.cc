#include "server/executors/builtin/builtin_push.h"

#include <algorithm>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "domain/try.h"
#include "server/executors/builtin/merge_base.h"
#include "server/executors/builtin/run_worktree.h"
#include "server/git/git_command.h"
#include "server/git/repository_lock.h"
#include "server/git/worktree_list.h"

namespace signalbox {
namespace {

struct Target {
  std::string branch;
  std::string head;      // the commit that the branch shall point to
  std::string location;  // the remote or the repository, for messages
};

enum class BaseRelation { behind, contains_head, diverged };

// Returns how the base relates to the head that it shall become.
tl::expected<BaseRelation, Failure> compare(const BuiltinRequest& request, const Target& target,
                                            const std::string& base) {
  const auto contains_head = is_contained(request, target.head, base);
  if (!contains_head) return tl::unexpected(contains_head.error());
  if (*contains_head) return BaseRelation::contains_head;
  const auto behind = is_contained(request, base, target.head);
  if (!behind) return tl::unexpected(behind.error());
  return *behind ? BaseRelation::behind : BaseRelation::diverged;
}

tl::unexpected<Failure> base_moved(const Target& target, const std::string& base) {
  return builtin_failure(ErrorClass::terminal, "BASE_MOVED",
                         target.branch + " in " + target.location + " is at " + base.substr(0, 12) +
                             " by now, which isn't in " + target.head.substr(0, 12) +
                             ": the merge has to be made and verified anew");
}

BuiltinStep push_to_remote(const BuiltinRequest& request, const Target& target) {
  const GitOutcome pushed = git(request.workspace, {"push", "--quiet", "--", request.remote,
                                                    target.head + ":refs/heads/" + target.branch});
  if (pushed.ok) return {};
  // The remote's current base decides what kind of failure this was.
  const auto base = TRY(newest_base(request, target.branch));
  const auto relation = TRY(compare(request, target, base));
  if (relation == BaseRelation::contains_head) return {};
  if (relation == BaseRelation::diverged) return base_moved(target, base);
  return builtin_failure(ErrorClass::transient, "PUSH_FAILED",
                         "git push to " + target.location + " failed: " + pushed.message);
}

// Fast-forwards the branch in the worktree where it is checked out, and only if no local change can
// be affected.
BuiltinStep fast_forward(const Target& target, const std::filesystem::path& path) {
  const auto refuse = [&](const std::string& why) {
    return builtin_failure(ErrorClass::terminal, "BASE_CHECKED_OUT",
                           target.branch + " is checked out at " + path.string() + " and " + why +
                               ": commit or stash there, or check out another branch, or give the "
                               "project a remote");
  };
  const GitOutcome status = git(path, {"status", "--porcelain", "--untracked-files=no"});
  if (!status.ok) return refuse("cannot be looked at (" + status.message + ")");
  if (!status.output.empty()) return refuse("has uncommitted changes");
  const GitOutcome merged = git(path, {"merge", "--quiet", "--ff-only", target.head});
  if (!merged.ok) return refuse("cannot be moved on (" + merged.message + ")");
  return {};
}

BuiltinStep move_local_branch(const BuiltinRequest& request, const Target& target,
                              const std::string& base) {
  const auto lock = RepositoryLock::take(request.repository);
  if (!lock) return repository_busy(lock.error());
  const auto worktrees = list_worktrees(request.repository);
  if (!worktrees) return git_failed("cannot find the branch's worktree", worktrees.error());
  const auto holder = std::find_if(
      worktrees->begin(), worktrees->end(),
      [&](const ListedWorktree& each) { return !each.bare && each.branch == target.branch; });
  if (holder != worktrees->end()) return fast_forward(target, holder->path);
  const GitOutcome moved =
      git(request.repository, {"update-ref", "-m", "signalbox: run " + request.run_id,
                               "refs/heads/" + target.branch, target.head, base});
  if (moved.ok) return {};
  const auto now = newest_base(request, target.branch);
  if (now && *now != base) return base_moved(target, *now);
  return git_failed("cannot move " + target.branch + " on", moved.message);
}

BuiltinOutcome success(const Target& target, bool already_pushed) {
  const boost::json::object metadata{{"base", target.branch},
                                     {"head_commit", target.head},
                                     {"pushed_to", target.location},
                                     {"already_pushed", already_pushed}};
  const std::string branch_text = target.branch + " in " + target.location;
  return BuiltinSuccess{already_pushed
                            ? branch_text + " contains " + target.head.substr(0, 12) + " already."
                            : branch_text + " is now at " + target.head.substr(0, 12) + ".",
                        boost::json::serialize(metadata), target.head};
}

}  // namespace

BuiltinOutcome builtin_push(const BuiltinRequest& request) {
  if (!workspace_is_worktree(request)) {
    return builtin_failure(ErrorClass::config, "WORKSPACE_NOT_REPOSITORY",
                           "the workspace " + request.workspace.string() +
                               " is not a worktree: have merge in the pipeline before push");
  }
  const auto branch = TRY(settle_base_branch(request));
  const GitOutcome head = git(request.workspace, {"rev-parse", "HEAD"});
  if (!head.ok) return git_failed("cannot read the head commit", head.message);
  const bool is_remote = !request.remote.empty();
  const Target target{
      branch, head.line(),
      is_remote ? without_credentials(request.remote) : request.repository.string()};

  const auto base = TRY(newest_base(request, target.branch));
  const auto relation = TRY(compare(request, target, base));
  if (relation == BaseRelation::contains_head) return success(target, true);
  if (relation == BaseRelation::diverged) return base_moved(target, base);
  TRY(is_remote ? push_to_remote(request, target) : move_local_branch(request, target, base));
  return success(target, false);
}

}  // namespace signalbox
