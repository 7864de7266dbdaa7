#include "server/executors/builtin/builtin_create_pr.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "domain/try.h"
#include "server/executors/builtin/builtin_intake.h"
#include "server/executors/builtin/run_worktree.h"
#include "server/git/check_scratch.h"
#include "server/git/git_command.h"
#include "server/git/git_identity.h"
#include "server/platform/atomic_file.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

constexpr std::size_t title_bytes_max = 72;
constexpr std::size_t commits_shown_max = 50;
constexpr std::size_t changes_bytes_max = 16 * 1024;

// Returns the first line of the goal that isn't empty, shortened to a commit's title.
std::string title_of(const BuiltinRequest& request) {
  const std::size_t begin = request.goal.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return "Run " + request.run_id;
  std::string line = request.goal.substr(begin, request.goal.find('\n', begin) - begin);
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
  if (line.size() <= title_bytes_max) return line;
  return std::string(utf8_prefix(line, title_bytes_max - 3)) + "…";
}

BuiltinStep commit_rest(const BuiltinRequest& request) {
  const GitOutcome status =
      git(request.workspace, {"status", "--porcelain", "--", ".", exclude_check_scratch});
  if (!status.ok) return git_failed("cannot read what changed", status.message);
  if (status.output.empty()) return {};
  if (const GitOutcome added =
          git(request.workspace, {"add", "--all", "--", ".", exclude_check_scratch});
      !added.ok) {
    return git_failed("cannot add the changes", added.message);
  }
  std::vector<std::string> arguments = git_identity(request.workspace);
  arguments.insert(arguments.end(),
                   {"commit", "--quiet", "--cleanup=whitespace", "--message", title_of(request),
                    "--message", request.goal, "--message", "Signalbox-Run: " + request.run_id});
  const GitOutcome committed = git(request.workspace, arguments);
  if (committed.ok) return {};
  return builtin_failure(ErrorClass::terminal, "COMMIT_FAILED",
                         "git refused the commit: " + committed.message);
}

BuiltinStep write_artifacts(const BuiltinRequest& request, const std::string& base) {
  const std::string range = base + "..HEAD";
  const GitOutcome patch =
      git(request.workspace, {"format-patch", "--stdout", "--binary", "--no-signature", range},
          {.output_file = request.artifacts_dir / "change.patch"});
  if (!patch.ok) return git_failed("cannot write the patch", patch.message);
  const GitOutcome commits =
      git(request.workspace, {"log", "--no-decorate", "--format=- %h %s",
                              "--max-count=" + std::to_string(commits_shown_max), range});
  if (!commits.ok) return git_failed("cannot list the commits", commits.message);
  const GitOutcome changes =
      git(request.workspace, {"diff", "--stat=100", "--no-color", base, "HEAD"});
  if (!changes.ok) return git_failed("cannot list the changes", changes.message);

  const std::string text = "# " + title_of(request) + "\n\n" + request.goal + "\n\n## Commits\n\n" +
                           with_replacements(commits.output) + "\n## Changes\n\n```\n" +
                           shortened(with_replacements(changes.output), changes_bytes_max) +
                           "```\n\nRun " + request.run_id + ", branch " + request.branch + ".\n";
  const auto written = write_file_atomically(request.artifacts_dir / "pull_request.md", text);
  if (written) return {};
  return builtin_failure(ErrorClass::transient, "STORAGE_FAILED", written.error().message);
}

BuiltinStep push(const BuiltinRequest& request) {
  if (request.remote.empty()) return {};
  const GitOutcome pushed = git(request.workspace, {"push", "--quiet", "--", request.remote,
                                                    "HEAD:refs/heads/" + request.branch});
  if (pushed.ok) return {};
  return builtin_failure(
      ErrorClass::transient, "PUSH_FAILED",
      "git push to " + without_credentials(request.remote) + " failed: " + pushed.message);
}

BuiltinSuccess success(const BuiltinRequest& request, const std::string& base,
                       const std::string& head, const std::string& commits) {
  const std::string remote = without_credentials(request.remote);
  const boost::json::object metadata{{"branch", request.branch},
                                     {"base_commit", base},
                                     {"head_commit", head},
                                     {"commits", std::stoll(commits)},
                                     {"pushed_to", remote}};
  return {title_of(request) + "\n\nBranch " + request.branch + " at " + head.substr(0, 12) + ", " +
              commits + (commits == "1" ? " commit" : " commits") + " on " + base.substr(0, 12) +
              (remote.empty() ? "; not pushed: no remote is configured."
                              : "; pushed to " + remote + "."),
          boost::json::serialize(metadata), head};
}

}  // namespace

BuiltinOutcome builtin_create_pr(const BuiltinRequest& request) {
  const std::string base = recorded_base(request);
  if (base.empty() || !workspace_is_worktree(request)) {
    return builtin_failure(ErrorClass::config, "WORKSPACE_NOT_REPOSITORY",
                           "the workspace " + request.workspace.string() +
                               " is not a worktree that intake made: start the run with a "
                               "repository, and have intake in its pipeline");
  }
  TRY(commit_rest(request));
  const GitOutcome commits = git(request.workspace, {"rev-list", "--count", base + "..HEAD"});
  if (!commits.ok) return git_failed("cannot count the commits", commits.message);
  if (commits.line() == "0") {
    return builtin_failure(ErrorClass::terminal, "NOTHING_TO_PROPOSE",
                           "nothing was changed since " + base.substr(0, 12));
  }
  const GitOutcome head = git(request.workspace, {"rev-parse", "HEAD"});
  if (!head.ok) return git_failed("cannot read the head commit", head.message);
  TRY(write_artifacts(request, base));
  TRY(push(request));
  return success(request, base, head.line(), commits.line());
}

}  // namespace signalbox
