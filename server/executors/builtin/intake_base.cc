#include "server/executors/builtin/intake_base.h"

#include <string_view>

#include "domain/try.h"
#include "server/executors/builtin/merge_base.h"
#include "server/executors/builtin/remote_fetch.h"
#include "server/executors/builtin/run_worktree.h"
#include "server/git/git_command.h"
#include "server/git/git_names.h"
#include "server/git/ref_lock.h"
#include "server/git/run_branch.h"

namespace signalbox {
namespace {

constexpr std::string_view own_branches = "refs/heads/";
constexpr std::string_view remote_branches = "refs/remotes/";

// Removes the prefix from the text; returns false if the text doesn't begin with it.
bool remove_prefix(std::string& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.erase(0, prefix.size());
  return true;
}

// Finds the base in the repository and at its remote.
class BaseSearch {
 public:
  BaseSearch(const BuiltinRequest& request, const PinnedRepository& pinned)
      : request_(request), pinned_(pinned), remote_(without_credentials(request.remote)) {}

  // A branch goes before what git would take first: a tag, or a file in its directory, of the same
  // name, which an agent can make without moving the branch.
  [[nodiscard]] std::string own_commit() const {
    const std::string branch = std::string(own_branches) + request_.base;
    if (is_branch_name(request_.base) && has_ref(branch)) return commit_at(branch);
    return commit_at(request_.base.empty() ? "HEAD" : request_.base);
  }

  // Returns the branch that the remote may have more of; empty if the base is no branch.
  [[nodiscard]] std::string branch() const {
    std::string name = request_.base;
    if (name.empty()) {
      return pinned_.in_repository({"symbolic-ref", "--quiet", "--short", "HEAD"}).line();
    }
    if (remove_prefix(name, own_branches) || has_ref(std::string(own_branches) + name)) {
      return is_branch_name(name) ? name : "";
    }
    remove_prefix(name, remote_branches);
    const bool is_remotes = remove_prefix(name, request_.remote + "/");
    // A tag or a commit is what it is.
    if (!is_remotes && !own_commit().empty()) return {};
    return is_branch_name(name) ? name : "";
  }

  // Returns the branches that the remote may have of the base, by its name alone: what the
  // repository has under it, a branch, a tag or nothing, is an agent's to change.
  [[nodiscard]] std::vector<std::string> possible_branches() const {
    std::string name = request_.base;
    if (name.empty()) {
      name = pinned_.in_repository({"symbolic-ref", "--quiet", "--short", "HEAD"}).line();
    }
    remove_prefix(name, own_branches);
    remove_prefix(name, remote_branches);
    std::vector<std::string> names{name};
    if (remove_prefix(name, request_.remote + "/")) names.push_back(name);
    std::erase_if(names, [](const std::string& each) { return !is_branch_name(each); });
    return names;
  }

  // Returns the remote's commit of the first of the branches that it has, if the repository can get
  // it; else an empty text.
  [[nodiscard]] std::string newest_remote_commit(const std::vector<std::string>& branches) const {
    if (branches.empty()) return {};
    std::vector<std::string> question{"ls-remote", "--quiet", "--", request_.remote};
    for (const std::string& each : branches) question.push_back(std::string(own_branches) + each);
    GitOptions quickly;
    quickly.timeout_ms = limits::remote_answer_ms_max;
    const GitOutcome listed = pinned_.in_repository(std::move(question), quickly);
    if (!listed.ok) return {};
    for (const std::string& each : branches) {
      const std::string ref = std::string(own_branches) + each;
      const std::string tip = listed_commit(listed.output, ref);
      if (tip.empty()) continue;
      if (commit_at(tip) == tip) return tip;
      GitOptions bounded_time;
      bounded_time.timeout_ms = limits::base_fetch_ms_max;
      (void)fetch_from_remote(request_, pinned_, {ref}, bounded_time);
      return commit_at(tip) == tip ? tip : std::string();
    }
    return {};
  }

  // Returns the remote's commit of the branch; empty if it isn't known, which the note explains.
  // REPOSITORY_INVALID if the remote can take no branch of the run.
  [[nodiscard]] tl::expected<std::string, Failure> remote_commit(const std::string& branch,
                                                                 std::string& note) const {
    const std::string obstructing = std::string(own_branches) + obstructing_branch;
    const std::string ref = std::string(own_branches) + branch;
    GitOptions quickly;
    quickly.timeout_ms = limits::remote_answer_ms_max;
    const GitOutcome listed = pinned_.in_repository(
        {"ls-remote", "--quiet", "--", request_.remote, ref, obstructing}, quickly);
    if (!listed.ok) {
      note = " " + remote_ +
             " didn't answer, so the run begins at what the repository has: " + listed.message;
      return known_remote_commit(branch);
    }
    if (!listed_commit(listed.output, obstructing).empty()) {
      return branches_obstructed(request_, remote_);
    }
    const std::string tip = listed_commit(listed.output, ref);
    if (tip.empty()) {
      note = " " + remote_ + " has no branch " + branch + " yet.";
      return {};
    }
    if (commit_at(tip) == tip) return tip;
    const std::string fetched = fetch(ref, note);
    return fetched.empty() ? known_remote_commit(branch) : fetched;
  }

 private:
  [[nodiscard]] bool has_ref(const std::string& ref) const {
    return pinned_.in_repository({"show-ref", "--verify", "--quiet", "--", ref}).ok;
  }
  [[nodiscard]] std::string commit_at(const std::string& name) const {
    return pinned_.in_repository(commit_query(name)).line();
  }
  // Returns the commit that the repository saw last as that of the remote's branch.
  [[nodiscard]] std::string known_remote_commit(const std::string& branch) const {
    if (!is_branch_name(request_.remote)) return {};  // a path or a URL
    return commit_at(std::string(remote_branches) + request_.remote + "/" + branch);
  }
  // As in newest_base() of a merge, the fetched commit is referred to by a ref of this run only.
  [[nodiscard]] std::string fetch(const std::string& ref, std::string& note) const {
    const std::string own = base_ref_of(request_.run_id);
    remove_stale_lock(pinned_.facts().common_directory, own);
    GitOptions bounded_time;
    bounded_time.timeout_ms = limits::base_fetch_ms_max;
    const GitOutcome fetched =
        fetch_from_remote(request_, pinned_, {"+" + ref + ":" + own}, bounded_time);
    if (fetched.ok) return commit_at(own);
    note = " Fetching from " + remote_ +
           " failed, so the run begins at what the repository has: " + fetched.message;
    return {};
  }

  const BuiltinRequest& request_;
  const PinnedRepository& pinned_;
  std::string remote_;  // for messages
};

}  // namespace

tl::unexpected<Failure> branches_obstructed(const BuiltinRequest& request,
                                            const std::string& location) {
  return builtin_failure(ErrorClass::config, "REPOSITORY_INVALID",
                         location + " has a branch " + obstructing_branch +
                             ", beside which git makes no branch of a run, such as " +
                             request.branch + ": rename it there with `git branch -m " +
                             obstructing_branch +
                             " NEW`, then have it tried again: " + retry_hint(request));
}

std::string newest_remote_base(const BuiltinRequest& request, const PinnedRepository& pinned) {
  if (request.remote.empty()) return {};
  const BaseSearch search(request, pinned);
  return search.newest_remote_commit(search.possible_branches());
}

tl::expected<IntakeBase, Failure> find_intake_base(const BuiltinRequest& request,
                                                   const PinnedRepository& pinned) {
  const BaseSearch search(request, pinned);
  IntakeBase base{search.own_commit(), {}};
  const std::string branch = request.remote.empty() ? std::string() : search.branch();
  std::string theirs;
  if (!branch.empty()) theirs = TRY(search.remote_commit(branch, base.note));
  if (base.commit.empty() && theirs.empty()) {
    return builtin_failure(ErrorClass::config, "BASE_NOT_FOUND",
                           "there is no commit " +
                               (request.base.empty() ? std::string("HEAD") : request.base) +
                               " in " + request.repository.string() + "." + base.note);
  }
  if (theirs.empty() || theirs == base.commit) return base;
  if (base.commit.empty()) {
    base.commit = theirs;
    return base;
  }
  const std::string remote = without_credentials(request.remote);
  if (TRY(is_contained(pinned, theirs, base.commit))) {
    base.note += " It has commits of " + branch + " that " + remote + " doesn't have yet.";
    return base;
  }
  if (!TRY(is_contained(pinned, base.commit, theirs))) {
    base.note += " " + branch + " in the repository has commits of its own that " + remote +
                 " doesn't have; the run begins without them.";
  }
  base.commit = theirs;
  return base;
}

}  // namespace signalbox
