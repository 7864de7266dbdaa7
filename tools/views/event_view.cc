#include "tools/views/event_view.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::size_t event_value_columns_max = 60;

// Fields for programs, or too long for a line.
constexpr std::array<std::string_view, 7> not_shown = {
    "request_digest", "pipeline_digest", "pipeline",     "logs_inline",
    "sha256",         "media_type",      "secret_sha256"};

std::string in_quotes(const std::string& text) {
  const std::string short_text = cut(printable(text), event_value_columns_max);
  return short_text.find(' ') == std::string::npos ? short_text : "\"" + short_text + "\"";
}

// Appends "name=value …" for each field that isn't empty; nested objects by their own fields.
void append_fields(const json::object& object, std::string& out) {
  for (const auto& each : object) {
    const std::string_view name = each.key();
    if (std::find(not_shown.begin(), not_shown.end(), name) != not_shown.end()) continue;
    if (each.value().is_object()) {
      append_fields(each.value().as_object(), out);
      continue;
    }
    std::string text = scalar_text(each.value());
    if (const json::array* array = each.value().if_array()) {
      for (const json::value& element : *array) {
        const std::string part =
            element.is_object() ? text_at(element.as_object(), "name") : scalar_text(element);
        text += (text.empty() ? "" : ",") + part;
      }
    }
    if (text.empty() || text == "0" || text == "false") continue;
    out += (out.empty() ? "" : " ") + printable(name) + "=" + in_quotes(text);
  }
}

Style style_of_type(std::string_view type) {
  if (type.ends_with("Succeeded")) return Style::good;
  if (type.ends_with("Failed") || type.ends_with("TimedOut") || type.ends_with("Escaped") ||
      type.ends_with("Denied")) {
    return Style::bad;
  }
  if (type.ends_with("Claimed") || type.ends_with("Started")) return Style::busy;
  return Style::plain;
}

constexpr std::size_t stream_columns = 13;  // of "run/…1234abcd"
constexpr std::size_t type_columns = 21;
constexpr std::size_t field_columns_min = 16;  // on a terminal, unless it is too narrow

// Shortens the name of a stream to at most that many columns, at least those of an id: what differs
// from its neighbours is mostly at the end.
std::string fitted_stream(const std::string& stream, std::size_t columns) {
  columns = std::max(columns, stream_columns);
  if (columns_of(stream) <= columns) return stream;
  const std::size_t slash = stream.find('/');
  const std::string noun = slash == std::string::npos ? "" : stream.substr(0, slash + 1);
  std::string tail = stream.substr(noun.size());
  while (!tail.empty() && columns_of(noun) + 1 + columns_of(tail) > columns) {
    tail.erase(0, bytes_within(tail, 2));
  }
  return noun + "…" + tail;
}

// "run/…1234abcd": ids of the same minute begin alike, so that the end is shown.
std::string short_stream(const std::string& stream) {
  constexpr std::size_t tail = 8;
  for (const std::string_view noun : {"run/", "card/"}) {
    if (!stream.starts_with(noun) || stream.size() <= noun.size() + tail) continue;
    return std::string(noun) + "…" + stream.substr(stream.size() - tail);
  }
  return stream;
}

std::string padded(std::string text, std::size_t width) {
  const std::size_t columns = columns_of(text);
  return columns < width ? text + std::string(width - columns, ' ') : text;
}

// `stream`, `type` and `fields` must be printable. An empty `stream` takes no column.
std::string stream_line(const json::object& event, const std::string& stream,
                        const std::string& type, std::string fields, const Terminal& terminal,
                        std::int64_t now_ns) {
  const std::string position = printable(text_at(event, "position"));
  const std::string time = clock_time(text_at(event, "recorded_at"), now_ns);
  const std::string number =
      std::string(position.size() < 8 ? 8 - position.size() : 0, ' ') + position;
  std::string shown = stream;
  if (terminal.columns) {
    const std::size_t others = columns_of(number) + columns_of(time) + 8 +
                               std::max(columns_of(type), type_columns) + field_columns_min;
    shown = fitted_stream(stream, *terminal.columns - std::min(*terminal.columns, others));
  }
  const std::string place = stream.empty() ? "  " : "  " + padded(shown, stream_columns) + "  ";
  const std::string before = number + "  " + time + place + padded(type, type_columns) + "  ";
  if (terminal.columns) {
    const std::size_t taken = columns_of(before);
    fields = cut(fields, *terminal.columns > taken + 8 ? *terminal.columns - taken : 8);
  }
  std::string line = styled(terminal, Style::faint, number + "  " + time) + place +
                     styled(terminal, style_of_type(type), padded(type, type_columns)) + "  " +
                     fields;
  while (line.ends_with(' ')) line.pop_back();
  return line + "\n";
}

std::string line_of_event(const json::object& event, const std::string& stream,
                          const Terminal& terminal, std::int64_t now_ns) {
  std::string fields;
  append_fields(object_at(event, "data"), fields);
  return stream_line(event, stream, printable(text_at(event, "type")), std::move(fields), terminal,
                     now_ns);
}

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
    const json::object& part = each.as_object();
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
  const json::object& event = parsed.as_object();
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

std::string event_line(const json::object& event, const Terminal& terminal, std::int64_t now_ns) {
  return line_of_event(event, printable(short_stream(text_at(event, "stream"))), terminal, now_ns);
}

std::string run_event_line(const json::object& event, const Terminal& terminal,
                           std::int64_t now_ns) {
  if (!terminal.columns) return event_line(event, terminal, now_ns);
  return line_of_event(event, "", terminal, now_ns);
}

std::string broadcast_line(const std::string& name, const json::object& params,
                           const Terminal& terminal, std::int64_t now_ns) {
  json::object shown = params;
  for (const char* known :
       {"position", "recorded_at", "subscription", "span_id", "parent_span_id"}) {
    shown.erase(known);
  }
  std::string fields;
  append_fields(shown, fields);
  return stream_line(params, " ", printable(name), std::move(fields), terminal, now_ns);
}

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
