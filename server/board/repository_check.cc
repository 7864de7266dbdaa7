#include "server/board/repository_check.h"

#include <filesystem>
#include <system_error>

#include "domain/refusals.h"
#include "server/git/git_command.h"
#include "server/git/git_names.h"
#include "server/git/path_facts.h"
#include "server/git/run_branch.h"
#include "server/limits.h"
#include "server/platform/call_bounds.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Rejection> refuse(const char* field, const std::string& value, std::string message,
                                 std::vector<std::string> next_commands) {
  return reject(ErrorCode::INVALID_PARAMS, std::move(message),
                {{"field", std::string(field)}, {"value", value}}, std::move(next_commands));
}

// Returns the command `signalbox project put` with another repository or base, and all else as it
// was given. The server doesn't know in which file the pipeline is.
std::string put_with(const PutProject& command, const std::string& repository,
                     const std::string& base) {
  std::string text = "signalbox project put " + shell_word(command.name) + " --repository " +
                     repository + " --base " + shell_word(base);
  if (command.remote) text += " --remote " + shell_word(*command.remote);
  if (command.pipeline) text += " --pipeline FILE";
  if (command.keep_pipeline) text += " --keep-pipeline";
  return text;
}

std::string git_in(const PutProject& command, const std::string& arguments) {
  return "git -C " + shell_word(command.repository) + " " + arguments;
}

// Refuses a path in which git finds no repository, or none that it uses: one of another user, or a
// bare one where the configuration excludes them. `why` is git's message.
tl::unexpected<Rejection> refuse_unusable(const PutProject& command, const std::string& why) {
  const std::string path = shell_word(command.repository);
  std::string next;
  if (why.find("dubious ownership") != std::string::npos) {
    next = "git config --global --add safe.directory " + path;
  } else if (why.find("safe.bareRepository") != std::string::npos) {
    next = "git config --global safe.bareRepository all";
  } else if (find_repository_fault(command.repository)) {
    return refuse(
        "repository", command.repository, command.repository + " isn't a git repository: " + why,
        {"git init --initial-branch " + shell_word(command.base.value_or("main")) + " " + path});
  }
  std::string text =
      "git of the service's user can't use the repository " + command.repository + ": " + why;
  if (next.empty()) return refuse("repository", command.repository, std::move(text), {});
  return refuse("repository", command.repository, std::move(text), {std::move(next)});
}

Decided<void> check_root(const PutProject& command) {
  const fs::path path = command.repository;
  const std::string base = command.base.value_or("main");
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    return refuse("repository", command.repository, "there is no directory " + command.repository,
                  {put_with(command, "\"$(git rev-parse --show-toplevel)\"", base)});
  }
  if (command.repository.find('\n') != std::string::npos) {
    return refuse("repository", command.repository,
                  "the path " + command.repository +
                      " has a line break, and such a repository isn't worked on: rename it",
                  {});
  }
  const GitOutcome is_bare = git(path, {"rev-parse", "--is-bare-repository"});
  if (!is_bare.ok) return refuse_unusable(command, is_bare.message);
  const GitOutcome root = is_bare.line() == "true" ? git(path, {"rev-parse", "--absolute-git-dir"})
                                                   : git(path, {"rev-parse", "--show-toplevel"});
  const fs::path here = fs::canonical(path, error);
  if (root.ok && !error && fs::path(root.line()) == here) return {};
  const std::string where = root.ok ? root.line() : here.parent_path().string();
  return refuse("repository", command.repository,
                command.repository + " isn't the root of a repository, it lies in one",
                {put_with(command, shell_word(where), base)});
}

Decided<void> check_branches(const PutProject& command) {
  const std::string ref = std::string("refs/heads/") + obstructing_branch;
  if (!git(command.repository, {"show-ref", "--verify", "--quiet", ref}).ok) return {};
  return refuse("repository", command.repository,
                std::string("the repository has a branch ") + obstructing_branch +
                    ", beside which git makes no branch of a run, such as signalbox/RUN-1: "
                    "rename it",
                {git_in(command, std::string("branch -m ") + obstructing_branch + " NEW")});
}

Decided<void> check_remote(const PutProject& command) {
  const std::string remote = command.remote.value_or("");
  if (remote.empty() || remote.find_first_of("/:") != std::string::npos) return {};
  const bool may_be_name = remote.front() != '-';
  if (may_be_name && git(command.repository, {"remote", "get-url", "--", remote}).ok) return {};
  std::vector<std::string> next{git_in(command, "remote -v")};
  if (may_be_name) next.push_back(git_in(command, "remote add " + shell_word(remote) + " URL"));
  return refuse("remote", remote, "the repository has no remote " + remote, std::move(next));
}

Decided<void> check_base(const PutProject& command) {
  const std::string base = command.base.value_or("main");
  if (is_branch_name(base) && git(command.repository, commit_query("refs/heads/" + base)).ok) {
    return {};
  }
  const std::string head = git(command.repository, {"symbolic-ref", "--short", "HEAD"}).line();
  const bool head_has_commit =
      !head.empty() && head != base &&
      git(command.repository, {"rev-parse", "--verify", "--quiet", "HEAD^{commit}"}).ok;
  std::vector<std::string> next;
  if (head_has_commit) {
    PutProject with_head = command;
    if (!check_remote(command)) with_head.remote.reset();  // it would be refused next
    next = {put_with(with_head, shell_word(command.repository), head),
            git_in(command, "branch " + shell_word(base))};
  } else {
    next = {git_in(command, "checkout -B " + shell_word(base)),
            git_in(command, "commit --allow-empty -m start")};
  }
  return refuse("base", base, "the repository has no branch " + base + " with a commit",
                std::move(next));
}

}  // namespace

std::optional<RepositoryFault> find_repository_fault(const std::string& path) {
  std::error_code failed;
  const fs::path directory = path;
  const auto status = fs::status(directory, failed);
  if (status.type() == fs::file_type::not_found ||
      (fs::exists(status) && !fs::is_directory(status))) {
    return RepositoryFault{true, {}};
  }
  const bool may_be_bare = !is_surely_absent(directory / "HEAD") &&
                           !is_surely_absent(directory / "objects") &&
                           !is_surely_absent(directory / "refs");
  if (may_be_bare || !is_surely_absent(directory / ".git")) return std::nullopt;
  for (fs::path above = resolved_path(directory); above.has_relative_path();) {
    above = above.parent_path();
    if (has_target(above / ".git")) return RepositoryFault{false, above.string()};
  }
  return RepositoryFault{};
}

Decided<void> repository_hangs(const PutProject& command) {
  return refuse(
      "repository", command.repository,
      "git doesn't answer in " + command.repository +
          "; look for a file that is no regular one, or a disk that hangs",
      {"find " + shell_word(command.repository) + " -maxdepth 2 -not -type f -not -type d",
       "timeout 10 " + git_in(command, "rev-parse --is-bare-repository")});
}

Decided<void> check_repository(const PutProject& command) {
  const CallBounds bounds(CallBounds::now_ms() + limits::repository_check_ms_max);
  Decided<void> checked = check_root(command);
  if (checked) checked = check_base(command);
  if (checked) checked = check_branches(command);
  if (checked) checked = check_remote(command);
  const bool too_late = CallBounds::now_ms() >= CallBounds::deadline_ms();
  return too_late && !checked ? repository_hangs(command) : checked;
}

}  // namespace signalbox
