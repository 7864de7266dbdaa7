// Splits a stream of bytes, which arrives in pieces, into lines of bounded length.
//
// The lines are JSON, of which a long text is the usual reason for a long line: a string keeps its
// beginning, so that the line around it can still be read, however long it was. A line that is too
// long all the same is dropped and counted; the lines after it are read normally.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace signalbox {

// Bounds a line whose strings have been cut.
inline constexpr std::size_t agent_line_bytes_max = 4 * 1024 * 1024;
// Bounds each string of a line. Of a result's text far less is kept, even if each of its characters
// is escaped.
inline constexpr std::size_t agent_string_bytes_max = 256 * 1024;

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
  [[nodiscard]] std::uint64_t cut_strings() const { return cut_strings_; }

 private:
  void take(std::string_view part) {
    for (const char next : part) {
      if (dropping_) return;
      if (!is_cut(next)) rest_ += next;
      if (rest_.size() > agent_line_bytes_max) {
        dropping_ = true;
        rest_ = {};
      }
    }
  }
  // Follows the line's strings and returns whether the byte lies behind what is kept of one. A
  // string isn't cut within an escape, so that what is kept of it is well-formed.
  bool is_cut(char next) {
    if (!in_string_) {
      in_string_ = next == '"';
      string_bytes_ = 0;
      cutting_ = false;
      return false;
    }
    if (escape_bytes_left_ > 0) {
      --escape_bytes_left_;
      if (next == 'u' && escape_begins_) escape_bytes_left_ = 4;
      escape_begins_ = false;
    } else if (next == '"') {
      in_string_ = false;
      return false;
    } else {
      if (!cutting_ && string_bytes_ >= agent_string_bytes_max) {
        cutting_ = true;
        ++cut_strings_;
      }
      escape_begins_ = next == '\\';
      if (escape_begins_) escape_bytes_left_ = 1;
    }
    ++string_bytes_;
    return cutting_;
  }
  void finish() {
    if (dropping_) {
      ++dropped_lines_;
    } else {
      on_line_(rest_);
    }
    dropping_ = in_string_ = escape_begins_ = false;
    escape_bytes_left_ = 0;
    rest_.clear();
  }

  OnLine on_line_;
  std::string rest_;
  bool dropping_ = false;
  std::uint64_t dropped_lines_ = 0;
  // Where the last byte was:
  bool in_string_ = false;
  bool escape_begins_ = false;  // it was the backslash
  int escape_bytes_left_ = 0;
  std::size_t string_bytes_ = 0;
  bool cutting_ = false;
  std::uint64_t cut_strings_ = 0;
};

}  // namespace signalbox
