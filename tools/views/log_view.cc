#include "tools/views/log_view.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

namespace json = boost::json;

void append_line(std::string& out, const std::string& line) {
  if (!line.empty()) out += (out.empty() ? "" : "\n") + line;
}

// The input of a tool call: its most important field if that is known, else all of it as JSON.
std::string tool_input_text(const json::object& input) {
  for (const char* field : {"command", "file_path", "path", "pattern", "url", "description"}) {
    if (std::string text = text_at(input, field); !text.empty()) return text;
  }
  return input.empty() ? "" : json::serialize(input);
}

std::string claude_message(const json::object& message) {
  std::string out;
  for (const json::value& each : array_at(message, "content")) {
    if (!each.is_object()) continue;
    const json::object& part = each.get_object();
    if (text_at(part, "type") == "tool_use") {
      append_line(out,
                  "→ " + text_at(part, "name") + " " + tool_input_text(object_at(part, "input")));
    } else {
      append_line(out, text_at(part, "text"));
    }
  }
  return out;
}

std::string codex_item(const json::object& item) {
  const std::string type = text_at(item, "type");
  if (type == "command_execution") return "→ " + text_at(item, "command");
  return text_at(item, "text");
}

std::string agent_line(std::string_view line) {
  const std::string unchanged(line);
  if (!line.starts_with("{\"")) return unchanged;
  json::error_code error;
  const json::value parsed = json::parse(line, error);
  if (error || !parsed.is_object()) return unchanged;
  const json::object& event = parsed.get_object();
  const std::string type = text_at(event, "type");
  std::string text;
  if (type == "assistant") {
    text = claude_message(object_at(event, "message"));
  } else if (type == "result") {
    text = text_at(event, "result");
  } else if (type == "item.completed") {
    text = codex_item(object_at(event, "item"));
  } else if (type == "user" || type == "system" || type == "item.started" ||
             type == "turn.started" || type == "turn.completed" || type == "thread.started") {
    return {};  // results of tools, and events without content of their own
  }
  return text.empty() ? unchanged : text;
}

// As wide as the position of an event line.
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
  const std::string before = printable(line_beginning(excerpt, named_));
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
  if (offset > next) out += line("… " + std::to_string(offset - next) + " bytes skipped");
  const std::uint64_t excerpt_end = offset + bytes;
  // After a reconnect the server sends the latest excerpt again.
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
