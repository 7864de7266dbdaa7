// Follows the rollout file of one codex thread:
// CODEX_HOME/sessions/YYYY/MM/DD/rollout-<time>-<thread id>.jsonl.
//
// codex appends to it while it runs. The agent runs as the same user, so it can write there, too:
// its figures are as trustworthy as those that are printed. Only a regular file is read, and below
// CODEX_HOME no symbolic link is followed. What is read, searched and kept is bounded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "server/executors/coderunner/agent_report.h"
#include "server/executors/coderunner/line_splitter.h"
#include "store/file_descriptor.h"

namespace signalbox {

// Bounds the bytes that are read at once: the newest, if more was written. Each answer of the model
// is followed by a total.
inline constexpr std::uint64_t codex_rollout_read_bytes_max = 16UL * 1024 * 1024;
// Bounds the directories and files of all threads among which one search looks for it, from the
// newest day on, and the searches in an attempt.
inline constexpr std::size_t codex_rollout_entries_max = 100'000;
inline constexpr int codex_rollout_searches_max = 20;

class CodexRollout {
 public:
  // Reads nothing yet. An empty `codex_home` has no files.
  CodexRollout(std::filesystem::path codex_home, std::string thread);
  CodexRollout(const CodexRollout&) = delete;
  CodexRollout& operator=(const CodexRollout&) = delete;

  // Reads what was appended since the last call, and returns the newest total of the thread;
  // nothing if the file isn't there, can't be read or has none. Blocks on the disk.
  std::optional<TokenCounts> total();

  [[nodiscard]] const std::string& thread() const { return thread_; }

 private:
  void open();
  void begin_at(std::uint64_t offset);
  void read_to(std::uint64_t size);
  void add(std::string_view bytes);

  std::filesystem::path home_;
  std::string thread_;
  int searches_left_;
  FileDescriptor file_;
  std::uint64_t offset_ = 0;  // of what wasn't read yet
  bool in_cut_line_ = false;  // reading began within a line, of which the rest is skipped
  std::optional<LineSplitter> lines_;
  std::optional<TokenCounts> total_;
};

// Returns the CODEX_HOME of this process, which is also that of an agent that it starts; empty if
// neither CODEX_HOME nor HOME is set.
std::filesystem::path codex_home_of_job();

}  // namespace signalbox
