#include "server/executors/builtin/proposal_push.h"

#include <algorithm>

#include "domain/limits.h"
#include "domain/refusals.h"
#include "server/executors/builtin/run_worktree.h"
#include "server/git/git_names.h"
#include "server/limits.h"
#include "server/platform/atomic_file.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

// A failure has to have room for what to do about it (limits::reason_bytes_max).
constexpr std::size_t push_message_bytes_max = 350;
constexpr std::size_t changed_warning_bytes_min = 200;

// Returns what publishes the work by hand, after a line end: a command, if it works as it stands.
// `remote` is that of the request without credentials.
std::string how_to_publish(const BuiltinRequest& request, const std::string& remote) {
  const std::string repository = shell_word(request.repository.string());
  if (remote == request.remote) {
    const std::string mirror = "remote." + remote + ".mirror";
    const bool is_mirrored =
        git(request.repository, {"config", "--type=bool", "--get", mirror}).line() == "true";
    return "\nThe work is done; this publishes it as well: `git -C " + repository +
           (is_mirrored ? " -c " + shell_word(mirror + "=false") : "") + " push -- " +
           shell_word(remote) + " " + request.branch + "`";
  }
  return "\nThe work is done; to publish it as well, push the branch " + request.branch + " of " +
         repository + " with the remote's credentials";
}

// Returns what the remote has as the run's branch; empty if that isn't known or there is none.
std::string pushed_before(const Proposal& proposal) {
  const std::string ref = "refs/heads/" + proposal.request.branch;
  GitOptions quickly;
  quickly.timeout_ms = limits::remote_answer_ms_max;
  const GitOutcome listed =
      proposal.run({"ls-remote", "--quiet", "--", proposal.request.remote, ref}, quickly);
  return listed.ok ? listed_commit(listed.output, ref) : std::string();
}

// Returns whether the run's worktree was at the commit some time.
bool was_made_here(const Proposal& proposal, const std::string& commit) {
  const auto log =
      read_regular_file(proposal.place.git_directory / "logs/HEAD", limits::worktree_log_bytes_max);
  return log && log->find(commit) != std::string::npos;
}

// Pushes over what the run's agent has pushed itself and then replaced, such as by an amended
// commit: the branch is the run's alone. What was made elsewhere stays.
GitOutcome push_branch(const Proposal& proposal, const std::string& head) {
  const BuiltinRequest& request = proposal.request;
  const std::string ref = "refs/heads/" + request.branch;
  const std::string refspec = head + ":" + ref;
  GitOutcome pushed = proposal.run({"push", "--quiet", "--", request.remote, refspec});
  if (pushed.ok) return pushed;
  const std::string before = pushed_before(proposal);
  if (before.empty() || !was_made_here(proposal, before)) return pushed;
  return proposal.run({"push", "--quiet", "--force-with-lease=" + ref + ":" + before, "--",
                       request.remote, refspec});
}

// Returns whether the remote is one by name, and the configuration that was pinned has none such.
bool is_unknown_remote(const Proposal& proposal) {
  const std::string& remote = proposal.request.remote;
  if (remote.find_first_of("/:") != std::string::npos) return false;
  const GitOutcome known = proposal.run({"remote", "get-url", "--", remote});
  return !known.ok && !known.timed_out;
}

// A remote that was added since the run began isn't used by itself: the run's agent could have
// added it.
tl::unexpected<Failure> unknown_remote(const BuiltinRequest& request) {
  const std::string& remote = request.remote;
  return builtin_failure(
      ErrorClass::config, "PUSH_FAILED",
      "the run has the git configuration of its beginning, which has no remote " + remote +
          ". If the one that the repository has is right, add it: `git config --file " +
          shell_word((request.pins / "git/config").string()) + " " +
          shell_word("remote." + remote + ".url") + " \"$(git -C " +
          shell_word(request.repository.string()) + " remote get-url " + shell_word(remote) +
          ")\"`; then have it tried again: " + retry_hint(request));
}

}  // namespace

BuiltinStep push_proposal(const Proposal& proposal, const std::string& head) {
  const BuiltinRequest& request = proposal.request;
  if (request.remote.empty()) return {};
  const GitOutcome pushed = push_branch(proposal, head);
  if (pushed.ok) return {};
  if (is_unknown_remote(proposal)) return unknown_remote(request);
  const std::string remote = without_credentials(request.remote);
  if (const std::string theirs = pushed_before(proposal);
      !theirs.empty() && theirs != head && !was_made_here(proposal, theirs)) {
    return builtin_failure(
        ErrorClass::config, "PUSH_FAILED",
        "the branch " + request.branch + " at " + remote + " is at " + theirs.substr(0, 12) +
            ", which this run didn't make: nothing was pushed over it. Take what it has (`git -C " +
            shell_word(request.repository.string()) + " fetch " + shell_word(remote) + " " +
            request.branch + "`), remove it there (`git -C " +
            shell_word(request.repository.string()) + " push " + shell_word(remote) + " --delete " +
            request.branch + "`), then have it tried again: " + retry_hint(request));
  }
  const std::string failed =
      "git push to " + remote + " failed: " + shortened(pushed.message, push_message_bytes_max);
  const std::string publish = how_to_publish(request, remote);
  const std::size_t room =
      limits::reason_bytes_max - std::min(limits::reason_bytes_max, failed.size() + publish.size());
  return builtin_failure(ErrorClass::transient, "PUSH_FAILED",
                         failed +
                             shortened(changed_since_intake(request, proposal.pinned),
                                       std::max(room, changed_warning_bytes_min)) +
                             publish);
}

}  // namespace signalbox
