#include "server/executors/builtin/run_worktree.h"

#include <system_error>

#include "domain/try.h"
#include "server/git/fence_marker.h"
#include "server/git/git_command.h"
#include "server/git/path_facts.h"
#include "server/git/repository_lock.h"
#include "server/git/worktree_list.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

bool is_empty_or_missing(const fs::path& path) {
  std::error_code error;
  if (!is_there(path)) return true;
  return fs::is_directory(fs::symlink_status(path, error)) && fs::is_empty(path, error);
}

tl::expected<fs::path, Failure> set_aside(const BuiltinRequest& request) {
  for (int number = 1;; ++number) {
    const fs::path name = request.workspace.string() + ".set-aside-" + std::to_string(number);
    std::error_code error;
    if (is_there(name)) continue;
    fs::rename(request.workspace, name, error);
    if (error) return storage_failed("cannot rename the workspace: " + error.message());
    return name;
  }
}

}  // namespace

BuiltinStep check_repository(const BuiltinRequest& request) {
  const auto invalid = [&request](const std::string& why) {
    return builtin_failure(ErrorClass::config, "REPOSITORY_INVALID",
                           request.repository.string() + " is not a git repository: " + why);
  };
  std::error_code error;
  if (!fs::is_directory(request.repository, error)) return invalid("there is no such directory");
  const GitOutcome directory = git(request.repository, {"rev-parse", "--absolute-git-dir"});
  if (!directory.ok) return invalid(directory.message);
  const GitOutcome top = git(request.repository, {"rev-parse", "--show-toplevel"});
  const fs::path found = top.ok ? top.line() : directory.line();
  if (resolved_path(found) == resolved_path(request.repository)) return {};
  return invalid("it lies in the one at " + found.string());
}

WorkspaceState inspect_workspace(const BuiltinRequest& request) {
  const fs::path& workspace = request.workspace;
  if (is_empty_or_missing(workspace)) return WorkspaceState::nothing;
  if (!workspace_is_worktree(request)) return WorkspaceState::other;
  const fs::path ours = common_git_directory(request.repository);
  if (ours.empty() || ours != common_git_directory(workspace)) return WorkspaceState::other;
  const GitOutcome directory = git(workspace, {"rev-parse", "--absolute-git-dir"});
  return is_unfinished_worktree(directory.line()) ? WorkspaceState::unfinished
                                                  : WorkspaceState::worktree;
}

BuiltinStep clear_workspace(const BuiltinRequest& request, WorkspaceState found) {
  git(request.repository, {"worktree", "unlock", request.workspace.string()});
  if (found != WorkspaceState::nothing) {
    const auto aside = TRY(set_aside(request));
    std::error_code ignored;
    if (found == WorkspaceState::unfinished) fs::remove_all(aside, ignored);
  }
  git(request.repository, {"worktree", "prune"});
  return {};
}

BuiltinStep add_worktree(const BuiltinRequest& request, const std::vector<std::string>& options,
                         const std::string& start) {
  std::vector<std::string> arguments{"worktree", "add", "--quiet"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.insert(arguments.end(), {request.workspace.string(), start});
  const GitOutcome added = git(request.repository, arguments);
  if (added.ok) return mark_worktree(request);
  return builtin_failure(ErrorClass::transient, "WORKTREE_FAILED",
                         "cannot make the worktree: " + added.message);
}

BuiltinStep mark_worktree(const BuiltinRequest& request) {
  const GitOutcome directory = git(request.workspace, {"rev-parse", "--absolute-git-dir"});
  if (!directory.ok)
    return git_failed("cannot find the worktree's own directory", directory.message);
  FenceMarker marker;
  marker.run_id = request.run_id;
  marker.token = request.run_token;
  marker.socket = request.socket.string();
  auto written = write_fence_marker(directory.line(), marker);
  if (!written) return storage_failed(written.error().message);
  return {};
}

bool workspace_is_worktree(const BuiltinRequest& request) {
  std::error_code error;
  if (!fs::is_directory(request.workspace, error)) return false;
  const GitOutcome top = git(request.workspace, {"rev-parse", "--show-toplevel"});
  return top.ok && resolved_path(top.line()) == resolved_path(request.workspace);
}

tl::unexpected<Failure> storage_failed(const std::string& message) {
  return builtin_failure(ErrorClass::transient, "STORAGE_FAILED", message);
}

tl::unexpected<Failure> git_failed(const std::string& what, const std::string& message) {
  return builtin_failure(ErrorClass::transient, "GIT_FAILED", what + ": " + message);
}

tl::unexpected<Failure> repository_busy(const std::string& why) {
  return builtin_failure(ErrorClass::transient, "REPOSITORY_BUSY", why);
}

}  // namespace signalbox
