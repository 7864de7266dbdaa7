// Splits a stream of bytes, which arrives in pieces, into lines of bounded length. A longer line is
// dropped and counted; the lines after it are read normally.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace signalbox {

// Large, because an agent's result is one line with its whole final text.
inline constexpr std::size_t agent_line_bytes_max = 4 * 1024 * 1024;

class LineSplitter {
 public:
  // Receives a line without its line end. Called within add() and finish_rest().
  using OnLine = std::function<void(std::string_view line)>;

  explicit LineSplitter(OnLine on_line) : on_line_(std::move(on_line)) {}

  // Adds the next piece of the stream.
  void add(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      take(bytes.substr(0, end));
      if (end == std::string_view::npos) return;
      finish();
      bytes.remove_prefix(end + 1);
    }
  }
  // Ends the stream: reads the rest after the last line end. Returns false if there is none.
  bool finish_rest() {
    if (rest_.empty() && !dropping_) return false;
    finish();
    return true;
  }

  [[nodiscard]] std::uint64_t dropped_lines() const { return dropped_lines_; }

 private:
  void take(std::string_view part) {
    if (dropping_) return;
    if (rest_.size() + part.size() > agent_line_bytes_max) {
      dropping_ = true;
      rest_ = {};
      return;
    }
    rest_ += part;
  }
  void finish() {
    if (dropping_) {
      ++dropped_lines_;
    } else {
      on_line_(rest_);
    }
    dropping_ = false;
    rest_.clear();
  }

  OnLine on_line_;
  std::string rest_;
  bool dropping_ = false;
  std::uint64_t dropped_lines_ = 0;
};

}  // namespace signalbox
