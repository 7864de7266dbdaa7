#include "tools/views/why_view.h"

#include <utility>

#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/text_table.h"
#include "tools/views/offered_commands.h"

namespace signalbox {
namespace {

namespace json = boost::json;

std::string until_text(const json::object& reason, std::int64_t now_ns) {
  const std::string time = text_at(reason, "until");
  return time.empty() ? time : clock_time(time, now_ns);
}

std::string cause_text(const json::object& reason) {
  const std::string position = text_at(reason, "cause_position");
  if (position.empty() || position == "0") return {};
  const std::string event = text_at(reason, "cause_event");
  return "signalbox events --from " + position + " --limit 1" +
         (event.empty() ? "" : "   # " + event);
}

std::string holders_text(const json::object& reason) {
  std::string text = text_at(reason, "holder");
  for (const json::value& each : array_at(reason, "holders")) {
    if (!each.is_object()) continue;
    const json::object& holder = each.as_object();
    text += text.empty() ? "" : ", ";
    text += holder.contains("card_id")
                ? "\"" + text_at(holder, "title") + "\" of " + text_at(holder, "project")
                : text_at(holder, "station") + " of " + text_at(holder, "run_id");
  }
  return text;
}

}  // namespace

std::string view_reasons(const json::object& result, const Terminal& terminal,
                         std::int64_t now_ns) {
  std::string text;
  for (const json::value& each : array_at(result, "reasons")) {
    if (!each.is_object()) continue;
    const json::object& reason = each.as_object();
    std::vector<std::pair<std::string, Cell>> values = {
        {text_at(reason, "reason"), {text_at(reason, "text"), Style::strong}},
        {"holder", {holders_text(reason)}},
        {"since", {moment_text(text_at(reason, "since"), now_ns)}},
        {"until", {until_text(reason, now_ns)}},
        {"last heartbeat", {moment_text(text_at(reason, "last_heartbeat_at"), now_ns)}},
        {"last progress", {moment_text(text_at(reason, "last_progress_at"), now_ns)}},
        {"cause", {with_connection(cause_text(reason), terminal.connection), Style::faint, true}},
        {"no retry", {text_at(reason, "not_retried")}},
        {"needs", {with_connection(text_at(reason, "unblocked_by"), terminal.connection)}}};
    std::string name = "next";
    for (std::string& command : offered_commands(reason, terminal)) {
      values.push_back({std::exchange(name, ""), {std::move(command), Style::plain, true}});
    }
    text += "\n" + named_values(values, terminal);
  }
  return text;
}

}  // namespace signalbox
