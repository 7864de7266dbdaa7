// Runs git by its argv: without a shell, without a prompt, with messages in English, and always
// with a time limit.
//
// Repositories and worktrees are written by others. Hooks, the file system monitor, pagers and
// editors, replaced objects and grafts are switched off in every call; pinned_repository.h runs
// what needs more than that.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/limits.h"

namespace signalbox {

struct GitOutcome {
  bool ok = false;  // git was started, exited with 0 and didn't time out
  bool timed_out = false;
  int exit_code = -1;
  std::string output;  // stdout, at most git_output_bytes_max
  // stderr, shortened and without credentials in URLs; or why git didn't start
  std::string message;

  // Returns the first line of `output`, without its line end.
  [[nodiscard]] std::string line() const;
};

inline constexpr std::size_t git_output_bytes_max = 1024 * 1024;
inline constexpr std::size_t git_message_bytes_max = 900;

// Directories that git uses instead of searching for a repository. Nothing is read from a `.git` in
// the working directory then, nor from the repository's own configuration.
struct GitPlace {
  std::filesystem::path git_directory;     // of the worktree or of the repository
  std::filesystem::path common_directory;  // its `config` is the only one of the repository
  std::filesystem::path work_tree;         // empty: none is needed
  std::filesystem::path hooks;             // the directory whose hooks are run
};

struct GitOptions {
  std::filesystem::path output_file =
      {};  // receives stdout instead of `output`; created or replaced
  // The same, as an open file. -1: none.
  int output_descriptor = -1;
  std::vector<std::string> environment = {};  // "NAME=VALUE", added to the caller's own
  std::vector<std::string> settings = {};     // "key=value", stronger than every configuration
  std::int64_t timeout_ms = limits::git_ms_max;
  std::optional<GitPlace> place = {};
  // Has git hold the repository's lock that the thread holds (repository_lock.h) also in a place,
  // for calls that run no hook or filter there: they leave no process behind.
  bool holds_lock = false;
  // Reads core.hooksPath as it is configured. For calls that run no hook.
  bool show_configured_hooks = false;
  // Receives stdout instead of `output`, all of it, in pieces. Called on the calling thread.
  std::function<void(std::string_view bytes)> receive = {};
  std::optional<std::string> input = {};  // content of stdin; nullopt: nothing to read
};

// Runs git with `directory` as its working directory. Blocks until git has ended or the timeout has
// passed, or the bounds of the thread's calls (platform/call_bounds.h) have: then its process group
// gets TERM, and after git_grace_ms_max KILL. If the kernel holds it even then, blocks on until it
// has ended or the thread's work is canceled. GIT_DIR and the other variables that redirect git,
// or give it settings, are not passed on; those that name files of the user's own configuration
// (GIT_CONFIG_GLOBAL, GIT_CONFIG_SYSTEM) are. No hook runs unless `options.place` names a directory
// of hooks. Any thread, as long as no thread changes the environment.
GitOutcome git(const std::filesystem::path& directory, std::vector<std::string> arguments,
               const GitOptions& options = {});

// Replaces each "scheme://user:password@host" in the text with "scheme://host".
std::string without_credentials(std::string text);

}  // namespace signalbox
