// One line on a terminal that says how far a long command is, and is gone when the command ends.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "tools/cli/terminal.h"

namespace signalbox {

// Returns a size for people: "31.4 MiB", "12 KiB".
std::string shown_size(std::uint64_t bytes);

class ProgressLine {
 public:
  // How far one part of a command is. `bytes` is what it has moved.
  struct Part {
    std::string_view doing;  // "copying": the start of the line; another one begins the rate anew
    std::uint64_t done = 0;
    std::uint64_t of = 0;  // 0: it isn't known
    std::uint64_t bytes = 0;
  };

  // `write` writes to the terminal, and isn't called if that isn't one. `now_ms` is monotonic.
  ProgressLine(Terminal terminal, std::function<void(std::string_view)> write,
               std::function<std::int64_t()> now_ms);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  // Removes the line.
  ~ProgressLine();

  // Shows the part, a few times a second at most.
  void show(const Part& part);

 private:
  [[nodiscard]] std::string text_of(const Part& part, std::int64_t now_ms) const;

  const Terminal terminal_;
  const std::function<void(std::string_view)> write_;
  const std::function<std::int64_t()> now_ms_;
  std::string doing_;
  std::int64_t begun_ms_ = 0;
  std::int64_t shown_ms_ = 0;
  bool is_shown_ = false;
};

// Returns one on the standard error of this process.
std::function<void(const ProgressLine::Part&)> progress_on_stderr();

}  // namespace signalbox
