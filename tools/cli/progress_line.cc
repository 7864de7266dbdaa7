#include "tools/cli/progress_line.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <utility>

namespace signalbox {
namespace {

constexpr std::int64_t shown_interval_ms = 200;
// Before that a rate says nothing.
constexpr std::int64_t rated_ms_min = 500;

// Goes to the start of the line and erases it.
constexpr std::string_view erase_line = "\r\x1b[K";

}  // namespace

std::string shown_size(std::uint64_t bytes) {
  constexpr std::uint64_t kibibyte = 1024;
  const bool is_small = bytes < kibibyte * kibibyte;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), is_small ? "%.0f KiB" : "%.1f MiB",
                static_cast<double>(bytes) / (is_small ? kibibyte : kibibyte * kibibyte));
  return text.data();
}

ProgressLine::ProgressLine(Terminal terminal, std::function<void(std::string_view)> write,
                           std::function<std::int64_t()> now_ms)
    : terminal_(terminal), write_(std::move(write)), now_ms_(std::move(now_ms)) {}

ProgressLine::~ProgressLine() {
  if (is_shown_) write_(erase_line);
}

void ProgressLine::show(const Part& part) {
  if (!terminal_.columns) return;
  const std::int64_t now_ms = now_ms_();
  const bool is_new = part.doing != doing_;
  if (is_new) {
    doing_ = part.doing;
    begun_ms_ = now_ms;
  }
  if (!is_new && now_ms - shown_ms_ < shown_interval_ms) return;
  shown_ms_ = now_ms;
  is_shown_ = true;
  // A line that fills the terminal would go on in the next one.
  const std::size_t columns = std::max<std::size_t>(*terminal_.columns, 2) - 1;
  write_(std::string(erase_line) + cut(text_of(part, now_ms), columns));
}

std::string ProgressLine::text_of(const Part& part, std::int64_t now_ms) const {
  std::string text(part.doing);
  if (part.of != 0) {
    const std::uint64_t done = std::min(part.done, part.of);
    text += ": " + std::to_string(done) + " of " + std::to_string(part.of) + " records (" +
            std::to_string(static_cast<int>(100.0 * static_cast<double>(done) /
                                            static_cast<double>(part.of))) +
            "%)";
  }
  if (part.bytes == 0) return text;
  text += ", " + shown_size(part.bytes);
  const std::int64_t took_ms = now_ms - begun_ms_;
  if (took_ms < rated_ms_min) return text;
  const double a_second = 1000.0 * static_cast<double>(part.bytes) / static_cast<double>(took_ms);
  return text + ", " + shown_size(static_cast<std::uint64_t>(a_second)) + "/s";
}

std::function<void(const ProgressLine::Part&)> progress_on_stderr() {
  const auto line = std::make_shared<ProgressLine>(
      terminal_of(STDERR_FILENO),
      [](std::string_view text) {
        std::fwrite(text.data(), 1, text.size(), stderr);
        std::fflush(stderr);
      },
      [] {
        return std::chrono::duration_cast<std::chrono::milliseconds>(
                   std::chrono::steady_clock::now().time_since_epoch())
            .count();
      });
  return [line](const ProgressLine::Part& part) { line->show(part); };
}

}  // namespace signalbox
