#include "tools/cli/terminal.h"

#include <algorithm>
#include <clocale>
#include <cstdlib>
#include <cwchar>

#include <sys/ioctl.h>
#include <unistd.h>

#include "domain/text_parts.h"
#include "tools/cli/elapsed_text.h"

namespace signalbox {
namespace {

// Returns wcwidth() in C.UTF-8, whatever the caller's locale is.
std::size_t character_columns(std::string_view character) {
  if (character.size() == 1) return 1;
  static const locale_t unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (unicode == nullptr) return 1;
  const auto lead = static_cast<unsigned char>(character.front());
  auto code = static_cast<wchar_t>(lead & (0xFFU >> (character.size() + 1)));
  for (const char byte : character.substr(1)) {
    code = static_cast<wchar_t>(code << 6 | (static_cast<unsigned char>(byte) & 0x3F));
  }
  const locale_t before = uselocale(unicode);
  const int columns = ::wcwidth(code);
  uselocale(before);
  return columns < 0 ? 1 : static_cast<std::size_t>(columns);
}

}  // namespace

std::int64_t Terminal::now_ns() const { return moment_ns ? *moment_ns : wall_clock_ns(); }

Terminal terminal_of(int file_descriptor) {
  Terminal terminal;
  if (isatty(file_descriptor) == 0) return terminal;
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  terminal.colours = (no_color == nullptr || *no_color == '\0') &&
                     (term == nullptr || std::string_view(term) != "dumb");
  winsize size{};
  const bool is_said = ioctl(file_descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  terminal.columns = is_said ? size.ws_col : 80;
  if (is_said && size.ws_row > 0) terminal.rows = size.ws_row;
  return terminal;
}

std::string styled(const Terminal& terminal, Style style, std::string_view text) {
  if (!terminal.colours || style == Style::plain || text.empty()) return std::string(text);
  const char* code = "";
  switch (style) {
    case Style::plain:
      break;
    case Style::good:
      code = "32";
      break;
    case Style::bad:
      code = "31";
      break;
    case Style::busy:
      code = "33";
      break;
    case Style::faint:
      code = "2";
      break;
    case Style::strong:
      code = "1";
      break;
  }
  return std::string("\x1b[") + code + "m" + std::string(text) + "\x1b[0m";
}

Style style_of_status(std::string_view status) {
  if (status == "succeeded" || status == "verified" || status == "merged") return Style::good;
  if (status == "failed" || status == "timeout" || status == "lost" || status == "blocked")
    return Style::bad;
  if (status == "running" || status == "waiting" || status == "verifying") return Style::busy;
  if (status == "canceled" || status == "pending") return Style::faint;
  return Style::plain;
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = std::max<std::size_t>(utf8_character_bytes(text.substr(at)), 1);
    columns += character_columns(text.substr(at, length));
    at += length;
  }
  return columns;
}

std::size_t bytes_within(std::string_view text, std::size_t columns) {
  std::size_t taken = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = std::max<std::size_t>(utf8_character_bytes(text.substr(at)), 1);
    taken += character_columns(text.substr(at, length));
    if (taken > columns) return at;
    at += length;
  }
  return text.size();
}

std::string broken_message(std::string_view message, const Terminal& terminal) {
  if (!terminal.columns) return std::string(message);
  std::string out;
  while (!message.empty()) {
    const std::size_t end = std::min(message.find('\n'), message.size());
    std::string line(message.substr(0, end));
    const bool is_ended = end < message.size();
    message.remove_prefix(is_ended ? end + 1 : end);
    const bool is_indented = line.starts_with(' ');
    while (!is_indented && columns_of(line) > *terminal.columns) {
      const std::size_t fits = bytes_within(line, *terminal.columns);
      std::size_t space = line[fits] == ' ' ? fits : line.rfind(' ', fits);
      // What goes on begins with two spaces. A word that is wider than the terminal stays whole.
      const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
      if (space == std::string::npos || space <= begin) space = line.find(' ', begin);
      if (space == std::string::npos) break;
      out += line.substr(0, space) + "\n";
      line = "  " + line.substr(space + 1);
    }
    out += line;
    if (is_ended) out += '\n';
  }
  return out;
}

std::string cut(std::string_view text, std::size_t columns) {
  if (columns_of(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  return std::string(text.substr(0, bytes_within(text, columns - 1))) + "…";
}

}  // namespace signalbox
