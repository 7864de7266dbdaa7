// git, by its argv: no shell, no prompt, messages in English, and an end in any case.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "server/limits.h"

namespace signalbox {

struct GitOutcome {
  bool ok = false;  // it was started and exited with 0
  bool timed_out = false;
  int exit_code = -1;
  std::string output;   // stdout, at most git_output_bytes_max
  std::string message;  // stderr, shortened, without passwords in URLs; or why git didn't start

  // `output` without the line end.
  [[nodiscard]] std::string line() const;
};

inline constexpr std::size_t git_output_bytes_max = 1024 * 1024;
inline constexpr std::size_t git_message_bytes_max = 900;

struct GitOptions {
  std::filesystem::path output_file =
      {};  // where stdout goes instead of `output`; made or replaced
  std::vector<std::string> environment = {};  // "NAME=VALUE", over the caller's own
  std::int64_t timeout_ms = limits::git_ms_max;
};

// Blocks until git has ended, or its time is over: then its process group gets TERM, and after
// git_grace_ms_max KILL. `directory` becomes its working directory. GIT_DIR and its kind are not
// passed on. Any thread, as long as no thread changes the environment.
GitOutcome git(const std::filesystem::path& directory, std::vector<std::string> arguments,
               const GitOptions& options = {});

// "scheme://user:password@host" as "scheme://host", wherever it stands in the text.
std::string without_credentials(std::string text);

}  // namespace signalbox
