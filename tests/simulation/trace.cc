#include "tests/simulation/trace.h"

#include <array>
#include <cstdio>

namespace signalbox::simulation {

void Trace::note(std::int64_t now_ns, std::string_view what) {
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
