#include "tools/views/event_view.h"

#include <algorithm>
#include <array>

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
      append_fields(each.value().get_object(), out);
      continue;
    }
    std::string text = scalar_text(each.value());
    if (const json::array* array = each.value().if_array()) {
      for (const json::value& element : *array) {
        const std::string part =
            element.is_object() ? text_at(element.get_object(), "name") : scalar_text(element);
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

// "run/…1234abcd": ids of the same minute begin alike, so that the end is shown.
std::string short_stream(const std::string& stream) {
  constexpr std::size_t tail = 8;
  if (!stream.starts_with("run/") || stream.size() <= 4 + tail) return stream;
  return "run/…" + stream.substr(stream.size() - tail);
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
  const std::string place = stream.empty() ? "  " : "  " + padded(stream, 13) + "  ";
  const std::string before = number + "  " + time + place + padded(type, 21) + "  ";
  if (terminal.columns) {
    const std::size_t taken = columns_of(before);
    fields = cut(fields, *terminal.columns > taken + 8 ? *terminal.columns - taken : 8);
  }
  std::string line = styled(terminal, Style::faint, number + "  " + time) + place +
                     styled(terminal, style_of_type(type), padded(type, 21)) + "  " + fields;
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

}  // namespace signalbox
