#include "server/executors/builtin_intake.h"

#include <fstream>
#include <system_error>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "server/artifacts/atomic_file.h"
#include "server/executors/git_command.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

using Step = tl::expected<void, BuiltinFailure>;

fs::path resolved(const fs::path& path) {
  std::error_code error;
  fs::path result = fs::weakly_canonical(path, error);
  return error ? path : result;
}

tl::unexpected<BuiltinFailure> storage_failed(const std::string& message) {
  return builtin_failure(ErrorClass::transient, "STORAGE_FAILED", message);
}

fs::path base_file(const BuiltinRequest& request) { return request.run_root / "base_commit"; }

// The repository itself, bare or with a work tree: a directory somewhere below one isn't meant.
Step check_repository(const BuiltinRequest& request) {
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
  if (resolved(found) == resolved(request.repository)) return {};
  return invalid("it lies in the one at " + found.string());
}

// Decided once and kept, so that a repeated intake starts from the same commit.
tl::expected<std::string, BuiltinFailure> settle_base(const BuiltinRequest& request) {
  if (std::string known = remembered_base(request); !known.empty()) return known;
  const std::string base = request.base.empty() ? "HEAD" : request.base;
  const GitOutcome commit = git(request.repository, {"rev-parse", "--verify", "--quiet",
                                                     "--end-of-options", base + "^{commit}"});
  if (!commit.ok) {
    return builtin_failure(ErrorClass::config, "BASE_NOT_FOUND",
                           "there is no commit " + base + " in " + request.repository.string());
  }
  if (auto written = write_file_atomically(base_file(request), commit.line() + "\n"); !written) {
    return storage_failed(written.error().message);
  }
  return commit.line();
}

bool is_empty_or_missing(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(path, error))) return true;
  return fs::is_directory(fs::symlink_status(path, error)) && fs::is_empty(path, error);
}

enum class Found { nothing, right, unfinished, other };

Found look_at_workspace(const BuiltinRequest& request) {
  const fs::path& workspace = request.workspace;
  if (is_empty_or_missing(workspace)) return Found::nothing;
  if (!workspace_is_worktree(request)) return Found::other;
  const GitOutcome ours =
      git(request.repository, {"rev-parse", "--path-format=absolute", "--git-common-dir"});
  const GitOutcome its =
      git(workspace, {"rev-parse", "--path-format=absolute", "--git-common-dir"});
  if (!ours.ok || resolved(ours.line()) != resolved(its.line())) return Found::other;
  // git holds this lock from the first file of a worktree to the end of its checkout.
  const GitOutcome directory = git(workspace, {"rev-parse", "--absolute-git-dir"});
  std::ifstream lock(fs::path(directory.line()) / "locked");
  std::string reason;
  if (std::getline(lock, reason) && reason == "initializing") return Found::unfinished;
  const GitOutcome head = git(workspace, {"symbolic-ref", "--quiet", "HEAD"});
  return head.line() == "refs/heads/" + request.branch ? Found::right : Found::other;
}

tl::expected<fs::path, BuiltinFailure> set_aside(const BuiltinRequest& request) {
  for (int number = 1;; ++number) {
    const fs::path name = request.workspace.string() + ".set-aside-" + std::to_string(number);
    std::error_code error;
    if (fs::exists(fs::symlink_status(name, error))) continue;
    fs::rename(request.workspace, name, error);
    if (error) return storage_failed("cannot rename the workspace: " + error.message());
    return name;
  }
}

Step make_room(const BuiltinRequest& request, Found found) {
  // Of a worktree that git didn't finish, nobody has worked in it: it can go.
  git(request.repository, {"worktree", "unlock", request.workspace.string()});
  if (found == Found::unfinished || found == Found::other) {
    const auto aside = set_aside(request);
    if (!aside) return tl::unexpected(aside.error());
    std::error_code ignored;
    if (found == Found::unfinished) fs::remove_all(*aside, ignored);
  }
  git(request.repository, {"worktree", "prune"});
  return {};
}

Step add_worktree(const BuiltinRequest& request, const std::string& base) {
  const bool branch_exists =
      git(request.repository, {"show-ref", "--verify", "--quiet", "refs/heads/" + request.branch})
          .ok;
  std::vector<std::string> arguments{"worktree", "add", "--quiet"};
  if (!branch_exists) arguments.insert(arguments.end(), {"-b", request.branch});
  arguments.insert(arguments.end(),
                   {request.workspace.string(), branch_exists ? request.branch : base});
  const GitOutcome added = git(request.repository, arguments);
  if (added.ok) return {};
  return builtin_failure(ErrorClass::transient, "WORKTREE_FAILED",
                         "cannot make the worktree: " + added.message);
}

BuiltinOutcome intake_of_nothing(const BuiltinRequest& request) {
  if (auto made = make_directories(request.workspace); !made) {
    return storage_failed(made.error().message);
  }
  return BuiltinSuccess{"An empty workspace: the run has no repository.", ""};
}

}  // namespace

std::string remembered_base(const BuiltinRequest& request) {
  std::ifstream file(base_file(request));
  std::string commit;
  std::getline(file, commit);
  return commit;
}

bool workspace_is_worktree(const BuiltinRequest& request) {
  std::error_code error;
  if (!fs::is_directory(request.workspace, error)) return false;
  const GitOutcome top = git(request.workspace, {"rev-parse", "--show-toplevel"});
  return top.ok && resolved(top.line()) == resolved(request.workspace);
}

BuiltinOutcome builtin_intake(const BuiltinRequest& request) {
  if (auto made = make_directories(request.run_root); !made) {
    return storage_failed(made.error().message);
  }
  if (request.repository.empty()) return intake_of_nothing(request);
  if (auto checked = check_repository(request); !checked) return tl::unexpected(checked.error());
  const auto base = settle_base(request);
  if (!base) return tl::unexpected(base.error());

  const Found found = look_at_workspace(request);
  if (found != Found::right) {
    if (auto room = make_room(request, found); !room) return tl::unexpected(room.error());
    if (auto added = add_worktree(request, *base); !added) return tl::unexpected(added.error());
  }
  const boost::json::object metadata{{"base_commit", *base}, {"branch", request.branch}};
  return BuiltinSuccess{"A worktree of " + request.repository.string() + " on branch " +
                            request.branch + ", from " + base->substr(0, 12) + ".",
                        boost::json::serialize(metadata)};
}

}  // namespace signalbox
