#include "server/executors/builtin/builtin_merge.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "domain/try.h"
#include "server/executors/builtin/merge_base.h"
#include "server/executors/builtin/merge_input.h"
#include "server/executors/builtin/remote_fetch.h"
#include "server/executors/builtin/run_worktree.h"
#include "server/executors/judging_base.h"
#include "server/git/git_command.h"
#include "server/git/git_identity.h"
#include "server/git/git_names.h"
#include "server/git/repository_lock.h"
#include "server/git/tree_removal.h"
#include "server/platform/atomic_file.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t merge_title_bytes_max = 200;
constexpr std::size_t files_bytes_max = 700;

// Returns the commit's full hash. A commit that isn't in the repository yet is fetched with its
// branch from the remote.
tl::expected<std::string, Failure> find_commit(const BuiltinRequest& request,
                                               const PinnedRepository& pinned,
                                               const MergeInput& input) {
  const auto resolve = [&] { return pinned.in_repository(commit_query(input.commit)); };
  GitOutcome commit = resolve();
  if (!commit.ok && !request.remote.empty()) {
    const GitOutcome fetched = fetch_from_remote(request, pinned, {"refs/heads/" + input.branch});
    if (fetched.ok) commit = resolve();
  }
  if (commit.ok) return commit.line();
  return builtin_failure(ErrorClass::config, "COMMIT_NOT_FOUND",
                         "there is no commit " + input.commit + " of branch " + input.branch +
                             " in " + request.repository.string());
}

// A worktree that an earlier attempt left is removed: the merge is made from the base again, so
// nothing is lost.
BuiltinStep make_merge_worktree(const BuiltinRequest& request, PinnedRepository& pinned,
                                const std::string& base) {
  const auto lock = RepositoryLock::take(request.repository);
  if (!lock) return repository_busy(lock.error());
  WorkspaceState found = inspect_workspace(request);
  if (found == WorkspaceState::worktree) {
    if (auto removed = remove_tree_atomically(request.workspace); !removed) {
      return storage_failed(removed.error());
    }
    found = WorkspaceState::nothing;
  }
  TRY(clear_workspace(request, found));
  TRY(add_worktree(request, pinned, {"--detach"}, base));
  return {};
}

// Returns the conflicting files as "a.txt, b.txt"; empty if there is no conflict.
std::string conflicting_files(const BuiltinRequest& request, const GitOptions& there) {
  const GitOutcome listed = git(request.workspace,
                                {"diff", "--name-only", "--diff-filter=U", "-z", "--no-ext-diff",
                                 "--no-textconv", "--ignore-submodules=dirty"},
                                there);
  std::string names;
  std::size_t begin = 0;
  while (begin < listed.output.size()) {
    const std::size_t end = std::min(listed.output.find('\0', begin), listed.output.size());
    names += (names.empty() ? "" : ", ") + listed.output.substr(begin, end - begin);
    begin = end + 1;
  }
  return shortened(with_replacements(names), files_bytes_max);
}

std::string message_of(const BuiltinRequest& request, const MergeInput& input,
                       const std::string& commit) {
  std::string title = input.title.substr(0, input.title.find('\n'));
  if (title.empty()) title = input.branch;
  return "Merge: " + std::string(utf8_prefix(title, merge_title_bytes_max)) + "\n\nBranch " +
         input.branch + " at " + commit.substr(0, 12) + ".\n\nSignalbox-Run: " + request.run_id +
         "\n";
}

BuiltinStep merge(const BuiltinRequest& request, const GitOptions& there, const MergeInput& input,
                  const std::string& commit, const std::string& base) {
  std::vector<std::string> arguments = git_identity(request.workspace, there);
  arguments.insert(arguments.end(),
                   {"merge", "--quiet", "--no-ff", "--no-edit", "-m",
                    message_of(request, input, commit), "--end-of-options", commit});
  GitOptions afresh = there;  // somebody's former answer to such a conflict isn't this work's
  afresh.settings.emplace_back("rerere.enabled=false");
  const GitOutcome merged = git(request.workspace, arguments, afresh);
  if (merged.ok) return {};
  const std::string files = conflicting_files(request, there);
  const bool begun =
      git(request.workspace, {"rev-parse", "--verify", "--quiet", "MERGE_HEAD"}, there).ok;
  if (begun) git(request.workspace, {"merge", "--abort"}, there);
  if (!files.empty()) {
    return builtin_failure(ErrorClass::terminal, "MERGE_CONFLICT",
                           input.branch + " (" + commit.substr(0, 12) + ") and its base (" +
                               base.substr(0, 12) + ") change the same places of: " + files);
  }
  // An agent can begin a branch of its own; no later merge of it would succeed.
  const GitOutcome common =
      git(request.workspace, {"merge-base", "--end-of-options", commit, base}, there);
  if (!common.ok && common.exit_code == 1) {
    return builtin_failure(ErrorClass::terminal, "MERGE_CONFLICT",
                           input.branch + " (" + commit.substr(0, 12) +
                               ") has no commit in common with its base (" + base.substr(0, 12) +
                               "), so that git doesn't merge them");
  }
  if (!begun) return git_failed("cannot merge " + commit.substr(0, 12), merged.message);
  return commit_failed(request, there, merged, "git refused the merge: " + merged.message);
}

BuiltinOutcome success(const BuiltinRequest& request, const GitOptions& there,
                       const MergeInput& input, const std::string& branch, const std::string& base,
                       const std::string& commit, bool contained, const std::string& missing) {
  const GitOutcome head = git(request.workspace, {"rev-parse", "--verify", "HEAD"}, there);
  if (!head.ok) return git_failed("cannot read the head commit", head.message);
  const boost::json::object metadata{
      {"base", branch},          {"base_commit", base},        {"branch", input.branch},
      {"branch_commit", commit}, {"head_commit", head.line()}, {"already_merged", contained}};
  const std::string merged_text = input.branch + " (" + commit.substr(0, 12) + ")";
  const std::string base_text = branch + " (" + base.substr(0, 12) + ")";
  return BuiltinSuccess{contained
                            ? merged_text + " is already merged: " + base_text + " contains it."
                            : "Merged " + merged_text + " into " + base_text + " as " +
                                  head.line().substr(0, 12) + "; not pushed yet." + missing,
                        boost::json::serialize(metadata)};
}

}  // namespace

BuiltinOutcome builtin_merge(const BuiltinRequest& request) {
  if (auto made = make_directories(request.run_root); !made) {
    return storage_failed(made.error().message);
  }
  const auto input = TRY(read_merge_input(request));
  TRY(check_repository(request));
  mend_unborn_worktree(request);
  auto pinned = TRY(pin_repository(request));
  const auto branch = TRY(settle_base_branch(request, pinned));
  const auto base = TRY(newest_base(request, pinned, branch));
  const auto commit = TRY(find_commit(request, pinned, input));
  const auto contained = TRY(is_contained(pinned, commit, base));

  // Before the worktree is there: the checks are those of what is merged into, not of the merge.
  if (auto known = record_merge_base(request.pins, base); !known) {
    return storage_failed(known.error().message);
  }
  TRY(make_merge_worktree(request, pinned, base));
  if (!pinned.is_recorded()) {
    if (auto done = pinned.record({}, branch); !done) return storage_failed(done.error());
  }
  GitOptions there;
  there.place = TRY(workspace_place(request, pinned, {}));
  if (!contained) {
    TRY(merge(request, there, input, commit, base));
  }
  const std::string missing = complete_worktree(request, *there.place);
  return success(request, there, input, branch, base, commit, contained, missing);
}

}  // namespace signalbox
