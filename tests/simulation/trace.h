// What happened in a simulation, line by line: a digest of all, and the last lines as text.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace signalbox::simulation {

class Trace {
 public:
  explicit Trace(std::size_t lines_kept) : lines_kept_(lines_kept) {}

  void note(std::int64_t now_ns, std::string_view what);

  // Equal for two runs that did the same things at the same times.
  [[nodiscard]] std::uint64_t digest() const { return digest_; }
  [[nodiscard]] const std::deque<std::string>& last_lines() const { return lines_; }

 private:
  const std::size_t lines_kept_;
  std::uint64_t digest_ = 0xCBF29CE484222325ULL;
  std::deque<std::string> lines_;
};

}  // namespace signalbox::simulation
