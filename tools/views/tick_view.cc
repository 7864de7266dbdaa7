#include "tools/views/tick_view.h"

#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/text_table.h"

namespace signalbox {
namespace {

namespace json = boost::json;

Style style_of_tick(const std::string& status) {
  if (status == "running" || status == "start") return Style::busy;
  if (status == "succeeded") return Style::good;
  return status == "recovered" || status == "skipped" ? Style::plain : Style::bad;
}

std::string open_text(const json::object& result, const Terminal& terminal, std::int64_t now_ns) {
  TextTable table({{"loop"},
                   {"status"},
                   {"token", TextTable::Align::right},
                   {"started"},
                   {"lease until"},
                   {"stage"},
                   {"reason"}});
  for (const json::value& each : array_at(result, "open")) {
    if (!each.is_object()) continue;
    const json::object& tick = each.get_object();
    const std::string status = text_at(tick, "status");
    table.add({{text_at(tick, "loop"), Style::strong},
               {status, style_of_tick(status)},
               {text_at(tick, "token")},
               {short_age(text_at(tick, "started_at"), now_ns)},
               {clock_time(text_at(tick, "expires_at"), now_ns)},
               {text_at(tick, "stage")},
               {text_at(tick, "reason")}});
  }
  return table.empty() ? std::string() : table.text(terminal) + "\n";
}

std::string error_or_reason(const json::object& row) {
  const json::object& error = object_at(row, "error");
  if (error.empty()) return text_at(row, "reason");
  const std::string message = text_at(error, "message");
  return text_at(error, "code") + (message.empty() ? "" : ": ") + message;
}

}  // namespace

std::string view_tick_list(const json::object& result, const Terminal& terminal,
                           std::int64_t now_ns) {
  TextTable table({{"position", TextTable::Align::right},
                   {"time"},
                   {"loop"},
                   {"token", TextTable::Align::right},
                   {"tick"},
                   {"took", TextTable::Align::right},
                   {"stage"},
                   {"reason"}});
  for (const json::value& each : array_at(result, "rows")) {
    if (!each.is_object()) continue;
    const json::object& row = each.get_object();
    const std::string outcome = text_at(row, "outcome");
    const std::string what = outcome.empty() ? text_at(row, "kind") : outcome;
    table.add(
        {{text_at(row, "position")},
         {clock_time(text_at(row, "ts"), now_ns), Style::faint},
         {text_at(row, "loop"), Style::strong},
         {text_at(row, "token")},
         {what, style_of_tick(what)},
         {row.contains("duration_ms")
              ? short_duration(static_cast<std::int64_t>(number_at(row, "duration_ms")) * 1'000'000)
              : std::string()},
         {text_at(row, "stage")},
         {error_or_reason(row)}});
  }
  std::string text = open_text(result, terminal, now_ns);
  text += table.empty() ? std::string("no ticks\n") : table.text(terminal);
  if (!text_at(result, "next_cursor").empty()) {
    text += "more: --all, or --cursor " + text_at(result, "next_cursor") + "\n";
  }
  return text;
}

}  // namespace signalbox
