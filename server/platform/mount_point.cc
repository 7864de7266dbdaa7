#include "server/platform/mount_point.h"

#include <fstream>
#include <sstream>

namespace signalbox {
namespace {

bool is_octal(char c) { return c >= '0' && c <= '7'; }

// The kernel writes a space, a tab, a line break and a backslash as `\` and three octal digits.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool is_escape = text[at] == '\\' && text.size() - at > 3 && is_octal(text[at + 1]) &&
                           is_octal(text[at + 2]) && is_octal(text[at + 3]);
    if (!is_escape) {
      plain += text[at];
      continue;
    }
    const int code = (text[at + 1] - '0') * 64 + (text[at + 2] - '0') * 8 + (text[at + 3] - '0');
    plain += static_cast<char>(code);
    at += 3;
  }
  return plain;
}

bool lies_in(std::string_view path, std::string_view directory) {
  if (!path.starts_with(directory)) return false;
  return path.size() == directory.size() || path[directory.size()] == '/';
}

}  // namespace

std::string mount_point_of(std::string_view path) {
  std::ifstream mounts("/proc/self/mountinfo");
  std::string found;
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string place;  // the fifth field
    for (int field = 0; field < 5; ++field) fields >> place;
    place = unescaped(place);
    if (place == "/") continue;  // without it, everything hangs anyway
    if (place.size() > found.size() && lies_in(path, place)) found = place;
  }
  return found;
}

}  // namespace signalbox
