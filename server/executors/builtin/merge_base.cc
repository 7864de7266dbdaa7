#include "server/executors/builtin/merge_base.h"

#include "domain/refusals.h"
#include "server/executors/builtin/remote_fetch.h"
#include "server/executors/builtin/run_worktree.h"
#include "server/executors/builtin/settled_base.h"
#include "server/git/git_command.h"
#include "server/git/git_names.h"
#include "server/git/ref_lock.h"
#include "server/git/run_branch.h"

namespace signalbox {
namespace {

constexpr const char* branch_file = "base_branch";

bool has_ref(const BuiltinRequest& request, const std::string& ref) {
  return git(request.repository, {"show-ref", "--verify", "--quiet", "--", ref}).ok;
}

std::string without_prefix(const std::string& text, const std::string& prefix) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

// Returns the base's branch; empty if the base is no branch.
std::string branch_of_base(const BuiltinRequest& request) {
  if (request.base.empty()) {
    return git(request.repository, {"symbolic-ref", "--quiet", "--short", "HEAD"}).line();
  }
  const std::string name = without_prefix(request.base, "refs/heads/");
  if (is_branch_name(name) && has_ref(request, "refs/heads/" + name)) return name;
  if (request.remote.empty()) return {};
  const std::string remote_branch =
      without_prefix(without_prefix(name, "refs/remotes/"), request.remote + "/");
  // The later fetch shows whether the remote has this branch.
  return is_branch_name(remote_branch) ? remote_branch : "";
}

}  // namespace

tl::expected<std::string, Failure> settle_base_branch(const BuiltinRequest& request,
                                                      const PinnedRepository& pinned) {
  if (pinned.is_recorded()) return pinned.facts().base_branch;
  std::string branch = read_settled(request, branch_file);
  if (is_branch_name(branch)) return branch;
  branch = branch_of_base(request);
  if (branch.empty()) {
    return builtin_failure(ErrorClass::config, "BASE_NOT_BRANCH",
                           (request.base.empty() ? "the HEAD of " + request.repository.string()
                                                 : "the base " + request.base) +
                               " is not a branch, and only branches can be merged into: give the "
                               "project a base that is one, with `signalbox project put`");
  }
  if (auto written = write_settled(request, branch_file, branch); !written) {
    return storage_failed(written.error().message);
  }
  return branch;
}

tl::expected<std::string, Failure> newest_base(const BuiltinRequest& request,
                                               const PinnedRepository& pinned,
                                               const std::string& branch) {
  std::string ref = "refs/heads/" + branch;
  if (!request.remote.empty()) {
    const std::string fetched = base_ref_of(request.run_id);
    remove_stale_lock(pinned.facts().common_directory, fetched);
    const GitOutcome fetch = fetch_from_remote(request, pinned, {"+" + ref + ":" + fetched});
    if (!fetch.ok && fetch.message.find("couldn't find remote ref") != std::string::npos) {
      const std::string remote = without_credentials(request.remote);
      return builtin_failure(ErrorClass::config, "BASE_NOT_FOUND",
                             remote + " has no branch " + branch + " to merge into: run `git -C " +
                                 shell_word(request.repository.string()) + " push " +
                                 shell_word(remote) + " " + shell_word(branch) +
                                 "`, or give the project another base, with `signalbox project "
                                 "put`");
    }
    if (!fetch.ok) {
      return builtin_failure(ErrorClass::transient, "FETCH_FAILED",
                             with_git_message(request, pinned,
                                              "git fetch of " + branch + " from " +
                                                  without_credentials(request.remote) + " failed: ",
                                              fetch.message));
    }
    ref = fetched;
  }
  const GitOutcome commit = pinned.in_repository(commit_query(ref));
  if (commit.ok) return commit.line();
  return builtin_failure(ErrorClass::config, "BASE_NOT_FOUND",
                         "there is no branch " + branch + " in " + request.repository.string() +
                             ": give the project another base, with `signalbox project put`");
}

tl::expected<bool, Failure> is_contained(const PinnedRepository& pinned,
                                         const std::string& ancestor, const std::string& commit) {
  const GitOutcome compared =
      pinned.in_repository({"merge-base", "--is-ancestor", "--end-of-options", ancestor, commit});
  if (compared.ok) return true;
  if (compared.exit_code == 1) return false;
  return git_failed("cannot compare " + ancestor + " with " + commit, compared.message);
}

}  // namespace signalbox
