#include "server/executors/builtin/builtin_push.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "domain/refusals.h"
#include "domain/try.h"
#include "server/executors/builtin/merge_base.h"
#include "server/executors/builtin/merge_input.h"
#include "server/executors/builtin/run_worktree.h"
#include "server/executors/judging_base.h"
#include "server/git/git_command.h"
#include "server/git/git_names.h"
#include "server/git/path_facts.h"
#include "server/git/ref_lock.h"
#include "server/git/repository_lock.h"
#include "server/git/worktree_list.h"
#include "server/platform/atomic_file.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

constexpr std::size_t shown_message_bytes_max = 500;
constexpr std::size_t state_file_bytes_max = 1024 * 1024;  // of a rebase

struct Target {
  std::string branch;
  std::string head;      // the commit that the branch shall point to
  std::string location;  // the remote or the repository, for messages
};

enum class BaseRelation { behind, contains_head, diverged };

// Returns how the base relates to the head that it shall become.
tl::expected<BaseRelation, Failure> compare(const PinnedRepository& pinned, const Target& target,
                                            const std::string& base) {
  const auto contains_head = is_contained(pinned, target.head, base);
  if (!contains_head) return tl::unexpected(contains_head.error());
  if (*contains_head) return BaseRelation::contains_head;
  const auto behind = is_contained(pinned, base, target.head);
  if (!behind) return tl::unexpected(behind.error());
  return *behind ? BaseRelation::behind : BaseRelation::diverged;
}

tl::unexpected<Failure> base_moved(const Target& target, const std::string& base) {
  return builtin_failure(ErrorClass::terminal, "BASE_MOVED",
                         target.branch + " in " + target.location + " is at " + base.substr(0, 12) +
                             " by now, which isn't in " + target.head.substr(0, 12) +
                             ": the merge has to be made and verified anew");
}

// A base that was set back is an ancestor of the merge. To move it on would publish again what
// somebody has taken out of it.
BuiltinStep require_merged_into(const BuiltinRequest& request, const Target& target,
                                const std::string& base) {
  const std::string merged_into = recorded_merge_base(request.pins);
  if (merged_into.empty() || merged_into == base) return {};
  return builtin_failure(ErrorClass::terminal, "BASE_MOVED",
                         target.branch + " in " + target.location + " was set back to " +
                             base.substr(0, 12) + " since the work was merged into " +
                             merged_into.substr(0, 12) +
                             ": the merge has to be made and verified anew");
}

// The lease lets nothing be overwritten, since `base` is an ancestor of the head. It keeps a branch
// that was set back or removed after `base` was fetched as it is.
BuiltinStep push_to_remote(const BuiltinRequest& request, const PinnedRepository& pinned,
                           const GitOptions& there, const Target& target,
                           const std::string& expected) {
  const std::string ref = "refs/heads/" + target.branch;
  const GitOutcome pushed = git(request.workspace,
                                {"push", "--quiet", "--force-with-lease=" + ref + ":" + expected,
                                 "--", request.remote, target.head + ":" + ref},
                                there);
  if (pushed.ok) return {};
  // The remote's current base decides what kind of failure this was.
  const auto base = TRY(newest_base(request, pinned, target.branch));
  const auto relation = TRY(compare(pinned, target, base));
  if (relation == BaseRelation::contains_head) return {};
  if (relation == BaseRelation::diverged) return base_moved(target, base);
  TRY(require_merged_into(request, target, base));
  return builtin_failure(
      ErrorClass::transient, "PUSH_FAILED",
      with_git_message(request, pinned,
                       "git push to " + target.location + " failed: ", pushed.message));
}

// Moves the branch from `base` to the head, whatever is checked out.
BuiltinStep move_ref(const BuiltinRequest& request, const PinnedRepository& pinned,
                     const Target& target, const std::string& base) {
  const GitOutcome moved =
      pinned.in_repository({"update-ref", "-m", "signalbox: run " + request.run_id,
                            "refs/heads/" + target.branch, target.head, base});
  if (moved.ok) return {};
  const auto now = newest_base(request, pinned, target.branch);
  if (now && *now != base) return base_moved(target, *now);
  return git_failed("cannot move " + target.branch + " on", moved.message);
}

// REPOSITORY_BUSY if git has locked the checkout. Nothing tells the lock of an earlier attempt that
// was killed from that of its owner's git, so that it stays.
BuiltinStep require_unlocked(const BuiltinRequest& request, const Target& target,
                             const std::filesystem::path& path, const GitPlace& place) {
  for (const char* name : {"index.lock", "HEAD.lock"}) {
    const std::filesystem::path lock = place.git_directory / name;
    if (!is_there(lock)) continue;
    return repository_busy(
        target.branch + " is checked out at " + path.string() +
        ", and a git works there, or one that was killed has left its lock, "
        "such as that of an earlier attempt of this push. If none works there, "
        "remove it with `rm -f " +
        shell_word(lock.string()) + "`, and put away what a cut attempt has changed with `git -C " +
        shell_word(path.string()) +
        " stash --include-untracked`; then have it tried again: " + retry_hint(request));
  }
  return {};
}

// Returns whether the index of a checkout is that of the commit, and so are its tracked files if
// `with_files`; git's error if it can't compare them. What is checked out of a submodule doesn't
// count: a fast-forward never touches that.
tl::expected<bool, std::string> has_files_of(const std::filesystem::path& path,
                                             const GitOptions& there, const std::string& commit,
                                             bool with_files = true) {
  const auto is_same = [&](std::vector<std::string> arguments) -> tl::expected<bool, std::string> {
    arguments.insert(arguments.end(), {"--quiet", "--no-ext-diff", "--no-textconv", commit, "--"});
    const GitOutcome compared = git(path, std::move(arguments), there);
    const bool is_other = compared.exit_code == 1 && !compared.timed_out;
    if (!compared.ok && !is_other) return tl::unexpected(compared.message);
    return compared.ok;
  };
  const bool is_index_same = TRY(is_same({"diff", "--cached", "--ignore-submodules=none"}));
  if (!is_index_same || !with_files) return is_index_same;
  return is_same({"diff", "--ignore-submodules=all"});
}

// Fast-forwards the branch in the worktree where it is checked out, and only if no local change can
// be affected.
BuiltinStep fast_forward(const BuiltinRequest& request, const PinnedRepository& pinned,
                         const Target& target, const std::string& base,
                         const std::filesystem::path& listed) {
  // Of a submodule, or with --separate-git-dir, git lists the directory of the repository instead
  // of the main worktree.
  const WorkspaceRecord& facts = pinned.facts();
  const bool is_main_elsewhere = facts.git_directory == facts.common_directory &&
                                 resolved_path(listed) == facts.common_directory;
  const std::filesystem::path path = is_main_elsewhere ? request.repository : listed;
  const auto refuse = [&](const std::string& why) {
    return builtin_failure(ErrorClass::terminal, "BASE_CHECKED_OUT",
                           target.branch + " is checked out at " + path.string() + " and " + why +
                               ": commit or stash there, or check out another branch, or give the "
                               "project a remote");
  };
  if (is_surely_absent(path)) {
    return builtin_failure(ErrorClass::terminal, "BASE_CHECKED_OUT",
                           "git has " + target.branch + " on record as checked out at " +
                               path.string() +
                               ", which isn't there: bring it back, or, if it was removed, run "
                               "`git -C " +
                               shell_word(request.repository.string()) + " worktree prune`");
  }
  const auto place = pinned.place_of_checkout(path);
  if (!place) return refuse("is no worktree of the repository: " + place.error());
  TRY(require_unlocked(request, target, path, *place));
  GitOptions there;
  there.place = *place;
  const GitOutcome status = git(
      path, {"status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all"}, there);
  const auto cannot_read = [&](const std::string& why) {
    return refuse("cannot be read (" + why + ")");
  };
  if (!status.ok) return cannot_read(status.message);
  const auto is_of_head = has_files_of(path, there, "HEAD", /*with_files=*/false);
  if (!is_of_head) return cannot_read(is_of_head.error());
  if (!status.output.empty() || !*is_of_head) {
    // An earlier attempt was killed after it had moved the files on, and before it moved the
    // branch.
    const auto is_moved_on = has_files_of(path, there, target.head);
    if (!is_moved_on) return cannot_read(is_moved_on.error());
    if (*is_moved_on) return move_ref(request, pinned, target, base);
    return refuse("has uncommitted changes");
  }
  // `branch.NAME.mergeOptions` may ask for a squash, which changes the files and not the branch.
  const GitOutcome merged = git(path,
                                {"merge", "--quiet", "--ff-only", "--no-squash",
                                 "--no-overwrite-ignore", "--end-of-options", target.head},
                                there);
  if (!merged.ok) return refuse("cannot be moved on (" + merged.message + ")");
  const GitOutcome moved = git(path, {"rev-parse", "--verify", "HEAD"}, there);
  if (!moved.ok || moved.line() != target.head) {
    return refuse("is at another commit than it was moved on to");
  }
  return {};
}

// Refuses to move a branch that a rebase or a bisect of a worktree has left for a while: git checks
// nothing out of it then, and sets it where it was, or elsewhere, when that ends.
BuiltinStep require_not_left(const BuiltinRequest& request, const PinnedRepository& pinned,
                             const Target& target, const ListedWorktree& worktree) {
  std::filesystem::path own = find_worktree_record(request.repository, worktree.path);
  if (own.empty()) own = pinned.facts().common_directory;  // of the main worktree
  const auto has_line = [&own](const char* name, const std::string& line) {
    const auto text = read_regular_file(own / name, state_file_bytes_max);
    return text && ("\n" + *text + "\n").find("\n" + line + "\n") != std::string::npos;
  };
  const std::string ref = "refs/heads/" + target.branch;
  const bool is_rebased = has_line("rebase-merge/head-name", ref) ||
                          has_line("rebase-apply/head-name", ref) ||
                          has_line("rebase-merge/update-refs", ref);
  if (!is_rebased && !has_line("BISECT_START", target.branch)) return {};
  return builtin_failure(ErrorClass::terminal, "BASE_CHECKED_OUT",
                         target.branch + " is being " + (is_rebased ? "rebased" : "bisected") +
                             " at " + worktree.path.string() +
                             ": finish or abort that, or give the project a remote");
}

BuiltinStep move_local_branch(const BuiltinRequest& request, const PinnedRepository& pinned,
                              const Target& target, const std::string& base) {
  const auto lock = RepositoryLock::take(request.repository);
  if (!lock) return repository_busy(lock.error());
  // No one else moves the branch to what this run has merged, and its earlier attempts have ended.
  remove_stale_lock_to(pinned.facts().common_directory, "refs/heads/" + target.branch, target.head);
  const auto worktrees = list_worktrees(request.repository);
  if (!worktrees) return git_failed("cannot find the branch's worktree", worktrees.error());
  const auto holder = std::find_if(
      worktrees->begin(), worktrees->end(),
      [&](const ListedWorktree& each) { return !each.bare && each.branch == target.branch; });
  if (holder == worktrees->end()) {
    for (const ListedWorktree& each : *worktrees) {
      TRY(require_not_left(request, pinned, target, each));
    }
    return move_ref(request, pinned, target, base);
  }
  return fast_forward(request, pinned, target, base, holder->path);
}

// Removes the merged branch of a run from the remote, if that still has it as it was merged. The
// merge is published by now, so what can't be removed is only named. Returns a sentence with a
// space before it, or nothing.
std::string remove_merged_branch_of(const BuiltinRequest& request, const PinnedRepository& pinned,
                                    const GitOptions& there, const Target& target) {
  const auto input = read_merge_input(request);
  if (request.remote.empty() || !input || !input->branch.starts_with("signalbox/")) return {};
  const std::string ref = "refs/heads/" + input->branch;
  const GitOutcome listed = pinned.in_repository({"ls-remote", "--", request.remote, ref});
  const std::string commit = listed.ok ? listed_commit(listed.output, ref) : std::string();
  if (commit.empty()) return {};
  const auto is_merged = is_contained(pinned, commit, target.head);
  if (!is_merged || !*is_merged) {
    return " The branch " + input->branch + " stays there: it has commits that weren't merged.";
  }
  // A push of that branch at the same time keeps it. The hook has let the base pass already.
  const GitOutcome removed =
      git(request.workspace,
          {"push", "--quiet", "--no-verify", "--force-with-lease=" + ref + ":" + commit, "--",
           request.remote, ":" + ref},
          there);
  if (removed.ok) return " The branch " + input->branch + " was removed there.";
  return " The branch " + input->branch +
         " stays there: " + shortened(with_replacements(removed.message), shown_message_bytes_max);
}

BuiltinOutcome success(const Target& target, bool already_pushed, const std::string& of_branch) {
  const boost::json::object metadata{{"base", target.branch},
                                     {"head_commit", target.head},
                                     {"pushed_to", target.location},
                                     {"already_pushed", already_pushed}};
  const std::string branch_text = target.branch + " in " + target.location;
  return BuiltinSuccess{
      already_pushed
          ? branch_text + " contains " + target.head.substr(0, 12) + " already." + of_branch
          : branch_text + " is now at " + target.head.substr(0, 12) + "." + of_branch,
      boost::json::serialize(metadata), target.head};
}

}  // namespace

BuiltinOutcome builtin_push(const BuiltinRequest& request) {
  constexpr const char* hint = ": have merge in the pipeline before push";
  if (request.repository.empty()) return not_a_worktree(request, hint);
  const auto pinned = TRY(open_pinned(request));
  GitOptions there;
  there.place = TRY(workspace_place(request, pinned, hint));
  // The run root has the branch for a repeated merge; a check of the work can write there.
  if (!pinned.is_recorded()) {
    return builtin_failure(ErrorClass::config, "BASE_UNKNOWN",
                           request.pins.string() +
                               " doesn't have the branch any more that the work was merged into, "
                               "and nothing was pushed. Put that directory back from a backup and "
                               "have it tried again: " +
                               retry_hint(request) + "; or start another run");
  }
  const auto branch = TRY(settle_base_branch(request, pinned));
  if (!is_branch_name(branch)) return not_a_worktree(request, hint);
  // The checks run programs of the work, which can commit in the worktree.
  const std::string verified =
      is_object_id(request.merge_commit) ? request.merge_commit : std::string("HEAD");
  const GitOutcome head =
      git(request.workspace,
          {"rev-parse", "--verify", "--quiet", "--end-of-options", verified + "^{commit}"}, there);
  if (!head.ok) return git_failed("cannot read the commit " + verified, head.message);
  const bool is_remote = !request.remote.empty();
  const Target target{
      branch, head.line(),
      is_remote ? without_credentials(request.remote) : request.repository.string()};

  const auto base = TRY(newest_base(request, pinned, target.branch));
  const auto relation = TRY(compare(pinned, target, base));
  const auto published = [&](bool already_pushed) {
    return success(target, already_pushed, remove_merged_branch_of(request, pinned, there, target));
  };
  if (relation == BaseRelation::contains_head) return published(true);
  if (relation == BaseRelation::diverged) return base_moved(target, base);
  TRY(require_merged_into(request, target, base));
  TRY(is_remote ? push_to_remote(request, pinned, there, target, base)
                : move_local_branch(request, pinned, target, base));
  return published(false);
}

}  // namespace signalbox
