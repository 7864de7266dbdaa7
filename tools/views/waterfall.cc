#include "tools/views/waterfall.h"

#include <algorithm>
#include <map>
#include <vector>

#include "server/text/time_text.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/text_table.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::size_t bar_columns_default = 32;
constexpr std::size_t bar_columns_min = 12;

struct WaterfallLane {
  const json::object* span = nullptr;
  std::size_t depth = 0;
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;
  bool open = false;
};

using SpanChildren = std::map<std::string, std::vector<const json::object*>>;

void add_lanes(const SpanChildren& children, const std::string& parent, std::size_t depth,
               std::int64_t now_ns, std::vector<WaterfallLane>& lanes) {
  const auto below = children.find(parent);
  if (below == children.end()) return;
  for (const json::object* span : below->second) {
    WaterfallLane lane;
    lane.span = span;
    lane.depth = depth;
    lane.from_ns = parse_time(text_at(*span, "started_at")).value_or(0);
    const auto ended = parse_time(text_at(*span, "ended_at"));
    lane.open = !ended.has_value();
    lane.to_ns = std::max(lane.from_ns, ended.value_or(now_ns));
    lanes.push_back(lane);
    add_lanes(children, text_at(*span, "span_id"), depth + 1, now_ns, lanes);
  }
}

// Draws the lane's bar on a scale from `from_ns` to `to_ns`; it is at least one column wide.
std::string lane_bar(const WaterfallLane& lane, std::int64_t from_ns, std::int64_t to_ns,
                     std::size_t columns) {
  const double whole = std::max<double>(1, static_cast<double>(to_ns - from_ns));
  const auto column = [&](std::int64_t at_ns) {
    const double share = static_cast<double>(at_ns - from_ns) / whole;
    return std::min(columns, static_cast<std::size_t>(share * static_cast<double>(columns) + 0.5));
  };
  const std::size_t begin = std::min(columns - 1, column(lane.from_ns));
  const std::size_t end = std::max(begin + 1, column(lane.to_ns));
  std::string text;
  for (std::size_t at = 0; at < columns; ++at) {
    text += at >= begin && at < end ? (lane.open ? "▒" : "█") : "·";
  }
  return text;
}

Style style_of_lane(const WaterfallLane& lane) {
  if (lane.open) return Style::busy;
  const std::string status = text_at(*lane.span, "status");
  return status == "ok" ? Style::good : status == "error" ? Style::bad : Style::faint;
}

// "implement #2 simplified".
std::string title_of_lane(const WaterfallLane& lane) {
  const json::object& attributes = object_at(*lane.span, "attributes");
  std::string title = std::string(2 * lane.depth, ' ') + text_at(*lane.span, "name");
  const std::string attempt = text_at(attributes, "signalbox.attempt");
  if (!attempt.empty()) title += " #" + attempt;
  const std::string strategy = text_at(attributes, "signalbox.strategy");
  return strategy.empty() || strategy == "original" ? title : title + " " + strategy;
}

// Returns whether every attempt of a job, or every retry, has this event, so that it isn't worth
// showing.
bool is_routine(const std::string& event) {
  return event == "StationSubmitIntended" || event == "StationExternalRefSet" ||
         event == "StationReady" || event == "StationAttemptFailed";
}

// How the span ended, and the events in it that aren't routine.
std::string outcome_of_lane(const WaterfallLane& lane) {
  const json::object& attributes = object_at(*lane.span, "attributes");
  std::string text = lane.open ? "under way" : text_at(attributes, "signalbox.outcome");
  const std::string message = text_at(*lane.span, "message");
  if (!message.empty()) text += ": " + message;
  std::map<std::string, int> counts;
  for (const json::value& each : array_at(*lane.span, "events")) {
    if (!each.is_object()) continue;
    const std::string name = text_at(each.as_object(), "name");
    if (!is_routine(name)) ++counts[name];
  }
  std::string happened;
  for (const auto& [name, count] : counts) {
    happened += (happened.empty() ? "" : ", ") + name;
    if (count > 1) happened += " ×" + std::to_string(count);
  }
  return happened.empty() ? text : text + " (" + happened + ")";
}

}  // namespace

std::string view_waterfall(const json::object& result, const Terminal& terminal) {
  const std::int64_t now_ns = parse_time(text_at(result, "as_of")).value_or(0);
  SpanChildren children;
  for (const json::value& each : array_at(result, "spans")) {
    if (!each.is_object()) continue;
    const json::object& span = each.as_object();
    children[text_at(span, "parent_span_id")].push_back(&span);
  }
  std::vector<WaterfallLane> lanes;
  add_lanes(children, "", 0, now_ns, lanes);
  if (lanes.empty()) return "no spans\n";
  const std::int64_t from_ns = lanes.front().from_ns;
  std::int64_t to_ns = from_ns;
  for (const WaterfallLane& lane : lanes) to_ns = std::max(to_ns, lane.to_ns);
  const std::size_t columns =
      terminal.columns ? std::max(bar_columns_min, *terminal.columns / 3) : bar_columns_default;
  TextTable table({{"span"},
                   {"from " + clock_time(format_time(from_ns), now_ns)},
                   {"took", TextTable::Align::right},
                   TextTable::spare(1, "worker"),
                   {"result"}});
  for (const WaterfallLane& lane : lanes) {
    const json::object& attributes = object_at(*lane.span, "attributes");
    table.add({{title_of_lane(lane), lane.depth == 0 ? Style::strong : Style::plain},
               {lane_bar(lane, from_ns, to_ns, columns), style_of_lane(lane)},
               {short_duration(lane.to_ns - lane.from_ns)},
               {text_at(attributes, "signalbox.worker")},
               {outcome_of_lane(lane)}});
  }
  return "trace " + text_at(result, "trace_id") + "\n\n" + table.text(terminal);
}

}  // namespace signalbox
