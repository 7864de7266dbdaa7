#include "server/executors/process/project_warnings.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string_view>
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

std::string git_command_in(const Project& project, const std::string& arguments) {
  return "git -C " + shell_word(project.repository) + " " + arguments;
}

// Returns the name of a remote of the repository: origin, if it is one. Empty: it has none.
std::string remote_name_in(const std::string& repository) {
  const std::string names = "\n" + git(repository, {"remote"}).output;
  if (names.find("\norigin\n") != std::string::npos) return "origin";
  return names.substr(1, names.find('\n', 1) - 1);
}

// The command that gives the project a remote and keeps all else. The pipeline of a project that
// has named none follows the remote.
void warn_of_remote(const Project& project, Warnings& warnings) {
  if (!project.remote.empty()) return;
  const std::string remote = remote_name_in(project.repository);
  std::string put = "signalbox project put " + shell_word(project.name) + " --repository " +
                    shell_word(project.repository) + " --base " + shell_word(project.base) +
                    " --remote " + (remote.empty() ? "origin" : shell_word(remote));
  if (project.pipeline != card_pipeline(project.remote)) put += " --keep-pipeline";
  std::vector<std::string> next_commands;
  if (remote.empty()) next_commands.push_back(git_command_in(project, "remote add origin URL"));
  next_commands.push_back(std::move(put));
  warnings.push_back({"no_remote",
                      "the project has no remote: what is merged stays in its repository",
                      std::move(next_commands)});
}

void warn_of_identity(const Project& project, Warnings& warnings) {
  if (git_identity(project.repository, {}).empty()) return;
  warnings.push_back({"no_identity",
                      "git has no user.name or no user.email there: the commits of cards are by "
                      "Signalbox <signalbox@localhost>",
                      {git_command_in(project, "config user.name \"Your Name\""),
                       git_command_in(project, "config user.email you@example.org")}});
}

// Cards begin at the base's commit, so that changes which aren't committed are not in their work.
// Git runs filters to see whether a file has changed: those of the repository's own configuration
// would run as the service's user, whoever named the repository.
void warn_of_changes(const Project& project, const PinnedRepository& pinned, Warnings& warnings) {
  if (pinned.in_repository({"rev-parse", "--is-bare-repository"}).line() != "false") return;
  const GitOutcome status =
      pinned.in_worktree_of_its_own({"--no-optional-locks", "status", "--porcelain",
                                     "--untracked-files=no", "--ignore-submodules=all"});
  if (!status.ok || status.output.empty()) return;
  warnings.push_back({"dirty_base",
                      "the checkout has changes that aren't committed: cards start without them",
                      {git_command_in(project, "status")}});
}

void warn_of_submodules(const Project& project, const PinnedRepository& pinned,
                        Warnings& warnings) {
  const std::string modules = "refs/heads/" + project.base + ":.gitmodules";
  if (!pinned.in_repository({"cat-file", "-e", modules}).ok) return;
  if (git(project.repository, {"config", "--local", "--get-regexp", "^submodule\\..*\\.url$"}).ok) {
    return;
  }
  warnings.push_back({"submodules",
                      "none of the repository's submodules is initialized: they are empty in the "
                      "worktrees of cards",
                      {git_command_in(project, "submodule init")}});
}

// Reads the instructions as the station will, from the base's newest commit.
void warn_of_checks(const Project& project, const StationDefinition& station,
                    const JudgingBase& base, Warnings& warnings) {
  if (station.executor != ExecutorKind::checks) return;
  if (station.checks && !station.checks->checks.empty()) return;
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
  if (found || !is_known) return;
  warnings.push_back({"no_checks",
                      "station " + station.name + " finds no checks on " + project.base +
                          " and will fail: " + found.error(),
                      {}});
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

void warn_of_all_checks(const Project& project, const PinnedRepository& pinned,
                        Warnings& warnings) {
  const GitOutcome base = pinned.in_repository(commit_query("refs/heads/" + project.base));
  if (!base.ok) return;
  const auto judging = JudgingBase::at(pinned, base.line());
  for (const StationDefinition& station : project.pipeline.stations) {
    warn_of_checks(project, station, judging, warnings);
  }
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

// Adds the warnings of `look`, which asks git about one kind of them. Once the time is over git is
// silent, which would be taken for an answer: the kind wasn't checked then.
template <class Look>
void look_for(const char* code, ProjectWarnings& found, const Look& look) {
  Warnings warnings;
  look(warnings);
  if (CallBounds::now_ms() < CallBounds::deadline_ms()) {
    std::move(warnings.begin(), warnings.end(), std::back_inserter(found.warnings));
  } else if (found.not_checked.empty() || found.not_checked.back() != code) {
    found.not_checked.emplace_back(code);
  }
}

}  // namespace

ProjectWarnings project_warnings(const Project& project, CoderunnerMode mode,
                                 const fs::path& scratch) {
  const CallBounds bounds(CallBounds::now_ms() + limits::repository_check_ms_max);
  ProjectWarnings found;
  warn_of_remote(project, found.warnings);  // which git only helps to mend
  for (const StationDefinition& station : project.pipeline.stations) {
    warn_of_agent(station, mode, found.warnings);
  }
  look_for("no_identity", found, [&](Warnings& to) { warn_of_identity(project, to); });
  const PinnedForReading reading(scratch, project);
  const auto look_at_repository = [&](const char* code, const auto& warn) {
    look_for(code, found, [&](Warnings& to) {
      if (reading.get()) warn(project, *reading.get(), to);
    });
  };
  look_at_repository("dirty_base", warn_of_changes);
  look_at_repository("submodules", warn_of_submodules);
  look_at_repository("no_checks", warn_of_all_checks);
  return found;
}

}  // namespace signalbox
