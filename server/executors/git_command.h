// git, by its argv: no shell, no prompt, messages in English.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace signalbox {

struct GitOutcome {
  bool ok = false;  // it was started and exited with 0
  int exit_code = -1;
  std::string output;   // stdout, at most git_output_bytes_max
  std::string message;  // stderr, shortened, without passwords in URLs; or why git didn't start

  // `output` without the line end.
  [[nodiscard]] std::string line() const;
};

inline constexpr std::size_t git_output_bytes_max = 1024 * 1024;
inline constexpr std::size_t git_message_bytes_max = 900;

// Blocks until git has ended. `directory` becomes its working directory. With `output_file`, stdout
// goes there (created or replaced) instead of `output`. Single-threaded callers only: the first
// call sets GIT_TERMINAL_PROMPT and LC_ALL for this process and removes GIT_DIR and its kind.
GitOutcome git(const std::filesystem::path& directory, std::vector<std::string> arguments,
               const std::filesystem::path& output_file = {});

// "scheme://user:password@host" as "scheme://host", wherever it stands in the text.
std::string without_credentials(std::string text);

}  // namespace signalbox
