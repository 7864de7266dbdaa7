#include "server/git/git_command.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <set>
#include <system_error>

#include "server/git/repository_lock.h"
#include "server/platform/call_bounds.h"
#include "server/platform/child_process.h"
#include "server/platform/service_manager.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

// How often a thread that waits for git checks whether its work was canceled.
constexpr std::int64_t cancel_interval_ms = 100;

// These variables would redirect git to another repository or program, give it settings of another
// call, or change what paths and differences mean; or are set by this file. All that `git rev-parse
// --local-env-vars` lists are among them.
bool is_excluded(std::string_view entry) {
  static constexpr std::array<std::string_view, 33> names{"GIT_DIR",
                                                          "GIT_WORK_TREE",
                                                          "GIT_IMPLICIT_WORK_TREE",
                                                          "GIT_INDEX_FILE",
                                                          "GIT_COMMON_DIR",
                                                          "GIT_OBJECT_DIRECTORY",
                                                          "GIT_ALTERNATE_OBJECT_DIRECTORIES",
                                                          "GIT_QUARANTINE_PATH",
                                                          "GIT_PREFIX",
                                                          "GIT_INTERNAL_SUPER_PREFIX",
                                                          "GIT_NAMESPACE",
                                                          "GIT_CEILING_DIRECTORIES",
                                                          "GIT_DISCOVERY_ACROSS_FILESYSTEM",
                                                          "GIT_CONFIG",
                                                          "GIT_CONFIG_PARAMETERS",
                                                          "GIT_CONFIG_COUNT",
                                                          "GIT_SHALLOW_FILE",
                                                          "GIT_GRAFT_FILE",
                                                          "GIT_REPLACE_REF_BASE",
                                                          "GIT_NO_REPLACE_OBJECTS",
                                                          "GIT_ATTR_SOURCE",
                                                          "GIT_REFLOG_ACTION",
                                                          "GIT_DIFF_OPTS",
                                                          "GIT_EXTERNAL_DIFF",
                                                          "GIT_LITERAL_PATHSPECS",
                                                          "GIT_GLOB_PATHSPECS",
                                                          "GIT_NOGLOB_PATHSPECS",
                                                          "GIT_ICASE_PATHSPECS",
                                                          "GIT_PAGER",
                                                          "GIT_EDITOR",
                                                          "GIT_SEQUENCE_EDITOR",
                                                          "GIT_TERMINAL_PROMPT",
                                                          "LC_ALL"};
  static constexpr std::array<std::string_view, 2> beginnings{"GIT_CONFIG_KEY_",
                                                              "GIT_CONFIG_VALUE_"};
  const std::string_view name = entry.substr(0, entry.find('='));
  return std::find(names.begin(), names.end(), name) != names.end() ||
         std::any_of(beginnings.begin(), beginnings.end(),
                     [entry](std::string_view each) { return entry.starts_with(each); });
}

// Of two entries with one name git takes the first, and its commands that are shell scripts the
// last: only the first stays.
std::vector<std::string> without_repeated_names(std::vector<std::string> entries) {
  std::set<std::string> names;
  std::erase_if(entries, [&names](const std::string& entry) {
    return !names.insert(entry.substr(0, entry.find('='))).second;
  });
  return entries;
}

std::vector<std::string> environment_with(const GitOptions& options) {
  // Replacements (refs/replace/) and grafts (info/grafts) would show and merge other content and
  // another history than what is pushed, and agents can make them. There is no file below a device.
  std::vector<std::string> entries{"GIT_TERMINAL_PROMPT=0",
                                   "LC_ALL=C",
                                   "GIT_PAGER=cat",
                                   "GIT_EDITOR=:",
                                   "GIT_SEQUENCE_EDITOR=:",
                                   "GIT_NO_REPLACE_OBJECTS=1",
                                   "GIT_GRAFT_FILE=/dev/null/none"};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!is_excluded(*entry) && !is_service_manager_variable(*entry)) entries.emplace_back(*entry);
  }
  if (options.place) {
    entries.push_back("GIT_DIR=" + options.place->git_directory.string());
    entries.push_back("GIT_COMMON_DIR=" + options.place->common_directory.string());
    if (!options.place->work_tree.empty()) {
      entries.push_back("GIT_WORK_TREE=" + options.place->work_tree.string());
    }
  }
  entries.insert(entries.end(), options.environment.begin(), options.environment.end());
  if (!options.place) {
    // A partial clone fetches objects that it lacks with the program that its configuration names.
    // Only commands in a pinned place talk to a remote.
    entries.insert(entries.end(), {"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none"});
  }
  return without_repeated_names(std::move(entries));
}

// Returns whether these arguments name revisions, and no paths that are told apart from them. git
// would fail at one that is also the name of a file, such as HEAD or a commit's number, which
// anybody may have in a worktree.
bool needs_end_of_revisions(const std::vector<std::string>& arguments) {
  static constexpr std::array<std::string_view, 6> commands{
      "diff", "diff-index", "diff-tree", "format-patch", "log", "rev-list"};
  return !arguments.empty() &&
         std::find(commands.begin(), commands.end(), arguments.front()) != commands.end() &&
         std::find(arguments.begin(), arguments.end(), "--") == arguments.end();
}

// Settings on the command line are stronger than those of every file, and git passes them on to the
// commands that it runs in submodules. Submodules are never entered: their configuration is written
// by whoever works in them. A repository that was copied from another system may say that case
// doesn't matter: of two files whose names differ by case only, git would see one.
std::vector<std::string> command_line(std::vector<std::string> arguments,
                                      const GitOptions& options) {
  std::vector<std::string> argv{"git",
                                "-c",
                                "core.fsmonitor=false",
                                "-c",
                                "core.ignoreCase=false",
                                "-c",
                                "log.showSignature=false",
                                "-c",
                                "submodule.recurse=false",
                                "-c",
                                "push.recurseSubmodules=no",
                                "-c",
                                "push.followTags=false",
                                "-c",
                                "fetch.recurseSubmodules=false",
                                "-c",
                                "format.useAutoBase=false",
                                "-c",
                                "status.showStash=false"};
  if (options.place) {
    // Maintenance would run in the stand-in of the repository's directory.
    argv.insert(argv.end(), {"-c", "core.hooksPath=" + options.place->hooks.string(), "-c",
                             "gc.auto=0", "-c", "maintenance.auto=false"});
  } else if (!options.show_configured_hooks) {
    argv.insert(argv.end(), {"-c", "core.hooksPath=/dev/null"});
  }
  for (const std::string& setting : options.settings) argv.insert(argv.end(), {"-c", setting});
  if (needs_end_of_revisions(arguments)) arguments.emplace_back("--");
  std::move(arguments.begin(), arguments.end(), std::back_inserter(argv));
  return argv;
}

GitOutcome not_started(int error) {
  GitOutcome outcome;
  outcome.message = "cannot run git: " + std::generic_category().message(error);
  return outcome;
}

// Returns true once git has ended, false at the deadline or when the thread's work is canceled.
bool await_git(ChildProcess& child, std::int64_t deadline_ms) {
  for (;;) {
    const std::int64_t now_ms = ChildProcess::now_ms();
    if (child.await_end(std::min(deadline_ms, now_ms + cancel_interval_ms))) return true;
    if (CallBounds::is_canceled() || ChildProcess::now_ms() >= deadline_ms) return false;
  }
}

}  // namespace

std::string GitOutcome::line() const { return output.substr(0, output.find('\n')); }

GitOutcome git(const std::filesystem::path& directory, std::vector<std::string> arguments,
               const GitOptions& options) {
  FileDescriptor file;
  if (!options.output_file.empty()) {
    const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    file = FileDescriptor(::open(options.output_file.c_str(), flags, 0600));
    if (!file) return not_started(errno);
  }
  BoundedOutput out(git_output_bytes_max, 0);
  BoundedOutput err(git_output_bytes_max, 0);
  const std::int64_t begun_ms = ChildProcess::now_ms();
  if (CallBounds::is_canceled() || CallBounds::deadline_ms() <= begun_ms) {
    GitOutcome outcome;
    outcome.timed_out = true;
    outcome.message = "git wasn't started: the time for this work is over";
    return outcome;
  }
  const int output = file ? file.get() : options.output_descriptor;
  ChildProcess::Sink to = options.receive ? options.receive : out.sink();
  if (output >= 0) to = {};
  const bool may_hold = !options.place || options.holds_lock;
  const int held = may_hold ? RepositoryLock::held_descriptor() : -1;
  auto child = ChildProcess::start({.argv = command_line(std::move(arguments), options),
                                    .cwd = directory,
                                    .environment = environment_with(options),
                                    .input = options.input,
                                    .stdout_sink = std::move(to),
                                    .stderr_sink = err.sink(),
                                    .stdout_descriptor = output,
                                    .held_descriptor = held});
  if (!child) return not_started(child.error());
  file = {};

  GitOutcome outcome;
  const std::int64_t deadline_ms =
      std::min(begun_ms + options.timeout_ms, CallBounds::deadline_ms());
  outcome.timed_out = !await_git(*child, deadline_ms);
  if (outcome.timed_out) {
    child->end(limits::git_grace_ms_max);
    // The thread stays with a process that the kernel holds, so that its lane starts no second one.
    await_git(*child, ChildProcess::now_ms() + limits::git_ms_max);
  }
  outcome.exit_code = child->exit_code().value_or(-1);
  outcome.ok = outcome.exit_code == 0 && !outcome.timed_out;
  outcome.output = out.head();
  outcome.message = err.head();
  if (outcome.timed_out) {
    outcome.message +=
        CallBounds::is_canceled()
            ? std::string("git was ended, because the service stops")
            : "git was ended after " + std::to_string(deadline_ms - begun_ms) + " ms";
  }
  while (outcome.message.ends_with('\n')) outcome.message.pop_back();
  outcome.message =
      shortened(with_replacements(without_credentials(outcome.message)), git_message_bytes_max);
  return outcome;
}

std::string without_credentials(std::string text) {
  for (std::size_t at = text.find("://"); at != std::string::npos; at = text.find("://", at)) {
    at += 3;
    const std::size_t end = text.find_first_of("/ \t\n'\"", at);
    const std::size_t last = end == std::string::npos ? text.size() : end;
    const std::size_t sign = text.substr(0, last).rfind('@');
    if (sign != std::string::npos && sign >= at) text.erase(at, sign + 1 - at);
  }
  return text;
}

}  // namespace signalbox
