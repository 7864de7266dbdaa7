#include "tools/replay/log_view.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include "tools/cli/json_fields.h"
#include "tools/views/agent_line.h"

namespace signalbox {
namespace {

// Under an event's position and time.
constexpr std::string_view log_indent = "          ";
constexpr std::size_t run_tail_characters = 8;

std::string line_beginning(const boost::json::object& excerpt, bool named) {
  std::string text(log_indent);
  if (named) {
    const std::string run = text_at(excerpt, "run_id");
    text += "run/…" + run.substr(run.size() - std::min(run.size(), run_tail_characters)) + "  " +
            text_at(excerpt, "station") + " ";
  }
  return text + (text_at(excerpt, "stream") == "stderr" ? "┃ " : "│ ");
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string each; std::getline(in, each);) lines.push_back(each);
  return lines;
}

}  // namespace

std::string LogView::lines(const boost::json::object& excerpt, const Terminal& terminal) {
  const std::string before = line_beginning(excerpt, named_);
  const auto line = [&](const std::string& content) {
    std::string shown = content;
    if (terminal.columns) {
      const std::size_t taken = columns_of(before);
      shown = cut(shown, *terminal.columns > taken + 8 ? *terminal.columns - taken : 8);
    }
    return styled(terminal, Style::faint, before + shown) + "\n";
  };
  const std::uint64_t offset = number_at(excerpt, "offset");
  const std::uint64_t bytes = number_at(excerpt, "bytes");
  std::string text = text_at(excerpt, "text");
  std::uint64_t& next = next_[text_at(excerpt, "span_id") + text_at(excerpt, "stream")];
  std::string out;
  if (offset > next) out += line("… " + std::to_string(offset - next) + " bytes passed over");
  const std::uint64_t excerpt_end = offset + bytes;
  // Who has connected again is told the newest again.
  if (excerpt_end <= next) return out;
  if (offset < next && text.size() == bytes) text.erase(0, next - offset);
  next = excerpt_end;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    for (const std::string& each : lines_of(agent_line(text.substr(begin, end - begin)))) {
      out += line(printable(each));
    }
    begin = end + 1;
  }
  return out;
}

}  // namespace signalbox
