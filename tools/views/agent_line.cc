#include "tools/views/agent_line.h"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

namespace json = boost::json;

void append_line(std::string& out, const std::string& line) {
  if (!line.empty()) out += (out.empty() ? "" : "\n") + line;
}

// What a tool is called with: the one thing that matters of it, where that is known.
std::string call_text(const json::object& input) {
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
      append_line(out, "→ " + text_at(part, "name") + " " + call_text(object_at(part, "input")));
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

}  // namespace

std::string agent_line(std::string_view line) {
  const std::string as_it_is(line);
  if (!line.starts_with("{\"")) return as_it_is;
  json::error_code error;
  const json::value parsed = json::parse(line, error);
  if (error || !parsed.is_object()) return as_it_is;
  const json::object& event = parsed.get_object();
  const std::string type = text_at(event, "type");
  std::string told;
  if (type == "assistant") {
    told = claude_message(object_at(event, "message"));
  } else if (type == "result") {
    told = text_at(event, "result");
  } else if (type == "item.completed") {
    told = codex_item(object_at(event, "item"));
  } else if (type == "user" || type == "system" || type == "item.started" ||
             type == "turn.started" || type == "turn.completed" || type == "thread.started") {
    return {};  // what tools answered, and what has no content of its own
  }
  return told.empty() ? as_it_is : told;
}

}  // namespace signalbox
