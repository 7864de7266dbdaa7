// Records what happens in a simulation line by line: a digest of all lines, and the text of the
// last ones.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <string>
#include <string_view>

namespace signalbox::simulation {

class Trace {
 public:
  explicit Trace(std::size_t lines_kept) : lines_kept_(lines_kept) {}

  // Adds a line with the monotonic time.
  void note(std::int64_t now_ns, std::string_view what);

  // Returns a digest that is equal for two runs that did the same things at the same times.
  [[nodiscard]] std::uint64_t digest() const { return digest_; }
  [[nodiscard]] const std::deque<std::string>& last_lines() const { return lines_; }

 private:
  const std::size_t lines_kept_;
  std::uint64_t digest_ = 0xCBF29CE484222325ULL;
  std::deque<std::string> lines_;
};

inline void Trace::note(std::int64_t now_ns, std::string_view what) {
  std::array<char, 32> time{};
  std::snprintf(time.data(), time.size(), "%12.6f  ", static_cast<double>(now_ns) / 1e9);
  std::string line = time.data();
  line += what;
  for (const char c : line) {  // FNV-1a
    digest_ = (digest_ ^ static_cast<std::uint8_t>(c)) * 0x100000001B3ULL;
  }
  constexpr std::size_t line_bytes_max = 400;
  if (line.size() > line_bytes_max) line.resize(line_bytes_max);
  lines_.push_back(std::move(line));
  if (lines_.size() > lines_kept_) lines_.pop_front();
}

}  // namespace signalbox::simulation
