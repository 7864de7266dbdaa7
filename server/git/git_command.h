// Runs git by its argv: without a shell, without a prompt, with messages in English, and always
// with a time limit.
#pragma once

#include <filesystem>
#include <string>
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

struct GitOptions {
  std::filesystem::path output_file =
      {};  // receives stdout instead of `output`; created or replaced
  std::vector<std::string> environment = {};  // "NAME=VALUE", added to the caller's own
  std::int64_t timeout_ms = limits::git_ms_max;
};

// Runs git with `directory` as its working directory. Blocks until git has ended or the timeout has
// passed: then its process group gets TERM, and after git_grace_ms_max KILL. GIT_DIR and the other
// variables that redirect git are not passed on. Any thread, as long as no thread changes the
// environment.
GitOutcome git(const std::filesystem::path& directory, std::vector<std::string> arguments,
               const GitOptions& options = {});

// Replaces each "scheme://user:password@host" in the text with "scheme://host".
std::string without_credentials(std::string text);

}  // namespace signalbox
