#include "server/executors/process/project_warnings.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "domain/refusals.h"
#include "server/executors/checks/instructions.h"
#include "server/executors/coderunner/agent_command.h"
#include "server/executors/judging_base.h"
#include "server/git/git_command.h"
#include "server/git/git_identity.h"
#include "server/git/git_names.h"
#include "server/git/pinned_repository.h"
#include "server/git/tree_removal.h"
#include "server/limits.h"
#include "server/platform/call_bounds.h"
#include "server/text/separated_text.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

using Warnings = std::vector<ProjectWarning>;

// Exit codes of git: it can't do what it was asked; what was asked for isn't there.
constexpr int git_fatal_exit_code = 128;
constexpr int git_nothing_exit_code = 1;

std::string git_command_in(const Project& project, const std::string& arguments) {
  return "git -C " + shell_word(project.repository) + " " + arguments;
}

// Returns the name of a remote of the repository: origin, if it is one. Empty: it has none.
std::string remote_name_in(const std::string& repository) {
  const std::string names = "\n" + git(repository, {"remote"}).output;
  if (names.find("\norigin\n") != std::string::npos) return "origin";
  return names.substr(1, names.find('\n', 1) - 1);
}

// Returns the command that puts the project with the changes that its words make, and keeps all
// else.
std::string put_command(const Project& project, const std::string& repository,
                        const std::string& base, const std::string& remote) {
  std::string put = "signalbox project put " + shell_word(project.name) + " --repository " +
                    repository + " --base " + shell_word(base);
  if (!remote.empty()) put += " --remote " + shell_word(remote);
  // The pipeline of a project that has named none follows the remote.
  if (project.pipeline != card_pipeline(project.remote)) put += " --keep-pipeline";
  return put;
}

void warn_of_remote(const Project& project, Warnings& warnings) {
  if (!project.remote.empty()) return;
  const std::string remote = remote_name_in(project.repository);
  std::vector<std::string> next_commands;
  if (remote.empty()) next_commands.push_back(git_command_in(project, "remote add origin URL"));
  next_commands.push_back(put_command(project, shell_word(project.repository), project.base,
                                      remote.empty() ? "origin" : remote));
  warnings.push_back({"no_remote",
                      "the project has no remote: what is merged stays in its repository",
                      std::move(next_commands)});
}

// Each of the functions below asks git about one kind of warning. They return false if git failed
// at that, so that it isn't known.

// Cards need what the project was put with: the root of a repository.
bool warn_of_repository(const Project& project, Warnings& warnings) {
  const auto warn = [&](const std::string& why, std::string next_command) {
    warnings.push_back(
        {"no_repository", "no card of the project can start: " + why, {std::move(next_command)}});
    return true;
  };
  const std::string moved =
      put_command(project, "\"$(git rev-parse --show-toplevel)\"", project.base, project.remote);
  std::error_code unknown;
  const fs::file_status place = fs::status(project.repository, unknown);
  if (fs::status_known(place) && !fs::is_directory(place)) {
    return warn("there is no directory " + project.repository, moved);
  }
  const GitOutcome prefix = git(project.repository, {"rev-parse", "--show-prefix"});
  if (prefix.ok && prefix.line().empty()) return true;
  if (prefix.ok) {
    return warn(project.repository + " isn't the root of a repository, it lies in one", moved);
  }
  if (prefix.timed_out || prefix.exit_code != git_fatal_exit_code) return false;
  return warn("git can't use " + project.repository + ": " + prefix.message,
              git_command_in(project, "status"));
}

bool warn_of_identity(const Project& project, Warnings& warnings) {
  const auto missing = missing_identity(project.repository, {});
  if (!missing) return false;
  if (missing->empty()) return true;
  warnings.push_back({"no_identity",
                      "git has no user.name or no user.email there: the commits of cards are by "
                      "Signalbox <signalbox@localhost>",
                      {git_command_in(project, "config user.name \"Your Name\""),
                       git_command_in(project, "config user.email you@example.org")}});
  return true;
}

// Cards begin at the base's commit, so that changes which aren't committed are not in their work.
// Git runs filters to see whether a file has changed: those of the repository's own configuration
// would run as the service's user, whoever named the repository.
bool warn_of_changes(const Project& project, const PinnedRepository& pinned, Warnings& warnings) {
  // Its own settings, which would say that it is bare, aren't used.
  std::error_code error;
  const auto git_directory = std::filesystem::path(std::string(project.repository)) / ".git";
  if (!std::filesystem::exists(std::filesystem::symlink_status(git_directory, error))) return true;
  const GitOutcome status =
      pinned.in_worktree_of_its_own({"--no-optional-locks", "status", "--porcelain",
                                     "--untracked-files=no", "--ignore-submodules=all"});
  if (!status.ok) return false;
  if (status.output.empty()) return true;
  warnings.push_back({"dirty_base",
                      "the checkout has changes that aren't committed: cards start without them",
                      {git_command_in(project, "status")}});
  return true;
}

// Sets `commit` to the newest one of the base, which stays empty if the base has none.
bool warn_of_base(const Project& project, const PinnedRepository& pinned, std::string& commit,
                  Warnings& warnings) {
  const GitOutcome base = pinned.in_repository(commit_query("refs/heads/" + project.base));
  if (base.ok) {
    commit = base.line();
    return true;
  }
  if (base.timed_out || base.exit_code != git_nothing_exit_code) return false;
  const std::string head = pinned.in_repository({"symbolic-ref", "--short", "HEAD"}).line();
  std::vector<std::string> next_commands;
  if (head == project.base) {
    next_commands.push_back(git_command_in(project, "commit --allow-empty -m start"));
  } else {
    if (!head.empty()) {
      next_commands.push_back(
          put_command(project, shell_word(project.repository), head, project.remote));
    }
    next_commands.push_back(git_command_in(project, "branch " + shell_word(project.base)));
  }
  warnings.push_back({"no_base",
                      "no card of the project can start: its repository has no branch " +
                          project.base + " with a commit",
                      std::move(next_commands)});
  return true;
}

bool warn_of_submodules(const Project& project, const PinnedRepository& pinned,
                        const std::string& commit, Warnings& warnings) {
  if (commit.empty()) return false;
  const GitOutcome modules =
      pinned.in_repository({"ls-tree", "--full-tree", "--name-only", commit, ".gitmodules"});
  if (!modules.ok) return false;
  if (modules.output.empty()) return true;
  const GitOutcome initialized =
      git(project.repository, {"config", "--local", "--get-regexp", "^submodule\\..*\\.url$"});
  if (initialized.ok) return true;
  if (initialized.timed_out || initialized.exit_code != git_nothing_exit_code) return false;
  warnings.push_back({"submodules",
                      "none of the repository's submodules is initialized: they are empty in the "
                      "worktrees of cards",
                      {git_command_in(project, "submodule init")}});
  return true;
}

// Reads the instructions as the station will, from the base's newest commit.
bool warn_of_checks(const Project& project, const StationDefinition& station,
                    const JudgingBase& base, Warnings& warnings) {
  if (station.executor != ExecutorKind::checks) return true;
  if (station.checks && !station.checks->checks.empty()) return true;
  bool is_known = true;
  const auto read_file =
      [&](const std::string& file) -> tl::expected<std::optional<std::string>, std::string> {
    auto text = base.read(file, instructions_bytes_max);
    if (text) return std::move(*text);
    is_known = is_known && text.error().error_class != ErrorClass::transient;
    return tl::unexpected<std::string>(text.error().message);
  };
  const std::string named = station.checks ? station.checks->instructions : std::string();
  const auto found = read_instructions(read_file, named);
  if (found || !is_known) return is_known;
  warnings.push_back({"no_checks",
                      "station " + station.name + " finds no checks on " + project.base +
                          " and will fail: " + found.error(),
                      {}});
  return true;
}

// A pinned repository that is only read, and removed after that.
class PinnedForReading {
 public:
  PinnedForReading(const fs::path& scratch, const Project& project)
      : directory_(scratch / ("project-check-" + std::to_string(::gettid()))) {
    auto pinned =
        PinnedRepository::pin(directory_, fs::path(project.repository), ConfigTrust::nobodys);
    if (pinned) pinned_ = std::move(*pinned);
  }
  ~PinnedForReading() { (void)remove_tree(directory_); }
  PinnedForReading(const PinnedForReading&) = delete;
  PinnedForReading& operator=(const PinnedForReading&) = delete;

  // Returns the repository; nullopt if git can't say where it is.
  [[nodiscard]] const std::optional<PinnedRepository>& get() const { return pinned_; }

 private:
  fs::path directory_;
  std::optional<PinnedRepository> pinned_;
};

bool warn_of_all_checks(const Project& project, const PinnedRepository& pinned,
                        const std::string& commit, Warnings& warnings) {
  if (commit.empty()) return false;
  const auto judging = JudgingBase::at(pinned, commit);
  bool is_known = true;
  for (const StationDefinition& station : project.pipeline.stations) {
    is_known = warn_of_checks(project, station, judging, warnings) && is_known;
  }
  return is_known;
}

bool is_in_path(const std::string& program) {
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const fs::path file = fs::path(take_until(rest, ':')) / program;
    if (::access(file.c_str(), X_OK) == 0) return true;
  }
  return false;
}

void warn_of_agent(const StationDefinition& station, CoderunnerMode default_mode,
                   Warnings& warnings) {
  if (station.executor != ExecutorKind::coderunner || !station.coderunner) return;
  const CoderunnerMode mode = station.coderunner->mode.value_or(default_mode);
  if (mode == CoderunnerMode::mock) {
    warnings.push_back({"mock_agent",
                        "station " + station.name +
                            " has a mock agent, which changes nothing of use: start the service "
                            "with CODERUNNER_MODE=process",
                        {}});
    return;
  }
  const std::string program = station.coderunner->agent == Agent::claude ? "claude" : "codex";
  if (mode != CoderunnerMode::process || !station.command.empty() || is_in_path(program)) return;
  warnings.push_back(
      {"no_agent",
       "station " + station.name + " needs " + program + ", which isn't in the PATH of the service",
       {install_command(station.coderunner->agent)}});
}

// A card's commit is the ref of its last station.
void warn_of_order(const Project& project, Warnings& warnings) {
  const auto& stations = project.pipeline.stations;
  for (std::size_t place = 0; place + 1 < stations.size(); ++place) {
    if (builtin_of(stations[place]) != BuiltinStation::create_pr) continue;
    warnings.push_back({"create_pr_not_last",
                        "station " + stations.back().name + " follows " + stations[place].name +
                            ", which makes the commit that a card is merged from: no card of the "
                            "project can be merged; put the other station before it",
                        {}});
    return;
  }
}

bool is_agents(const StationDefinition& station) {
  const bool has_agent =
      station.executor == ExecutorKind::coderunner || station.executor == ExecutorKind::deep_work;
  return has_agent && station.name != "verify";  // an agent that looks at what others did
}

// Whatever is executed behind an agent may look at what that did, and so may the person whom an
// approval asks. The checks of a `checks` station are those of the merge, too (run_of_merge()).
void warn_of_unchecked_work(const Project& project, Warnings& warnings) {
  const auto& stations = project.pipeline.stations;
  if (stations.empty() || builtin_of(stations.back()) != BuiltinStation::create_pr) return;
  const StationDefinition* unchecked = nullptr;
  for (const StationDefinition& station : stations) {
    if (station.executor == ExecutorKind::checks) return;
    if (is_agents(station)) {
      unchecked = &station;
    } else if (station.executor != ExecutorKind::builtin) {
      unchecked = nullptr;
    }
  }
  if (unchecked == nullptr) return;
  warnings.push_back({"unchecked",
                      "nothing checks what the agent of station " + unchecked->name +
                          " did: it is merged as it is; put a station with executor = \"checks\" "
                          "behind it, or one that runs a command of your own",
                      {}});
}

// Adds the warnings of `look`, which asks git about one kind of them and returns whether it is
// known. Once the time is over git is silent, which would be taken for an answer.
template <class Look>
void look_for(const char* code, ProjectWarnings& found, const Look& look) {
  Warnings warnings;
  const bool is_known = look(warnings);
  const bool is_in_time = CallBounds::now_ms() < CallBounds::deadline_ms();
  if (is_in_time) {
    std::move(warnings.begin(), warnings.end(), std::back_inserter(found.warnings));
  }
  if (!is_known || !is_in_time) found.not_checked.emplace_back(code);
}

}  // namespace

ProjectWarnings project_warnings(const Project& project, CoderunnerMode mode,
                                 const fs::path& scratch) {
  const CallBounds bounds(CallBounds::now_ms() + limits::repository_check_ms_max);
  ProjectWarnings found;
  warn_of_remote(project, found.warnings);  // which git only helps to mend
  warn_of_order(project, found.warnings);
  warn_of_unchecked_work(project, found.warnings);
  for (const StationDefinition& station : project.pipeline.stations) {
    warn_of_agent(station, mode, found.warnings);
  }
  bool is_there = false;
  look_for("no_repository", found, [&](Warnings& to) {
    const bool is_known = warn_of_repository(project, to);
    is_there = is_known && to.empty();
    return is_known;
  });
  look_for("no_identity", found,
           [&](Warnings& to) { return is_there && warn_of_identity(project, to); });
  std::optional<PinnedForReading> reading;
  if (is_there) reading.emplace(scratch, project);
  const auto look_in_repository = [&](const char* code, const auto& warn) {
    look_for(code, found,
             [&](Warnings& to) { return reading && reading->get() && warn(*reading->get(), to); });
  };
  look_in_repository("dirty_base", [&](const PinnedRepository& pinned, Warnings& to) {
    return warn_of_changes(project, pinned, to);
  });
  std::string commit;  // the newest of the base
  look_in_repository("no_base", [&](const PinnedRepository& pinned, Warnings& to) {
    return warn_of_base(project, pinned, commit, to);
  });
  look_in_repository("submodules", [&](const PinnedRepository& pinned, Warnings& to) {
    return warn_of_submodules(project, pinned, commit, to);
  });
  look_in_repository("no_checks", [&](const PinnedRepository& pinned, Warnings& to) {
    return warn_of_all_checks(project, pinned, commit, to);
  });
  return found;
}

}  // namespace signalbox
