#include "server/executors/process/project_warnings.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>

#include "domain/refusals.h"
#include "server/executors/checks/instructions.h"
#include "server/executors/coderunner/agent_command.h"
#include "server/git/git_command.h"
#include "server/git/git_identity.h"
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
void warn_of_changes(const Project& project, Warnings& warnings) {
  GitOptions options;
  options.settings = {"core.fsmonitor=false"};
  const GitOutcome status = git(project.repository,
                                {"--no-optional-locks", "status", "--porcelain",
                                 "--untracked-files=no", "--ignore-submodules=all"},
                                options);
  if (!status.ok || status.output.empty()) return;  // not ok in a bare repository
  warnings.push_back({"dirty_base",
                      "the checkout has changes that aren't committed: cards start without them",
                      {git_command_in(project, "status")}});
}

void warn_of_submodules(const Project& project, Warnings& warnings) {
  const std::string modules = "refs/heads/" + project.base + ":.gitmodules";
  if (!git(project.repository, {"cat-file", "-e", modules}).ok) return;
  if (git(project.repository, {"config", "--local", "--get-regexp", "^submodule\\..*\\.url$"}).ok) {
    return;
  }
  warnings.push_back({"submodules",
                      "none of the repository's submodules is initialized: they are empty in the "
                      "worktrees of cards",
                      {git_command_in(project, "submodule init")}});
}

bool has_checks(const Project& project, const std::string& file) {
  const GitOutcome text =
      git(project.repository, {"cat-file", "blob", "refs/heads/" + project.base + ":" + file});
  if (!text.ok) return false;
  const auto checks =
      file.ends_with(".toml") ? checks_in_toml(text.output) : checks_in_markdown(text.output);
  return checks && !checks->empty();
}

void warn_of_checks(const Project& project, const StationDefinition& station, Warnings& warnings) {
  if (station.executor != ExecutorKind::checks) return;
  if (station.checks && !station.checks->checks.empty()) return;
  const std::string named = station.checks ? station.checks->instructions : std::string();
  const bool found = named.empty()
                         ? has_checks(project, ".signalbox.toml") ||
                               has_checks(project, "AGENTS.md") || has_checks(project, "CLAUDE.md")
                         : has_checks(project, named);
  if (found) return;
  warnings.push_back({"no_checks",
                      "station " + station.name + " finds no checks on " + project.base +
                          " and will fail: write a section \"## Checks\" into " +
                          (named.empty() ? std::string("AGENTS.md") : named),
                      {}});
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

ProjectWarnings project_warnings(const Project& project, CoderunnerMode mode) {
  const CallBounds bounds(CallBounds::now_ms() + limits::repository_check_ms_max);
  ProjectWarnings found;
  warn_of_remote(project, found.warnings);  // which git only helps to mend
  for (const StationDefinition& station : project.pipeline.stations) {
    warn_of_agent(station, mode, found.warnings);
  }
  look_for("no_identity", found, [&](Warnings& to) { warn_of_identity(project, to); });
  look_for("dirty_base", found, [&](Warnings& to) { warn_of_changes(project, to); });
  look_for("submodules", found, [&](Warnings& to) { warn_of_submodules(project, to); });
  for (const StationDefinition& station : project.pipeline.stations) {
    look_for("no_checks", found, [&](Warnings& to) { warn_of_checks(project, station, to); });
  }
  return found;
}

}  // namespace signalbox
