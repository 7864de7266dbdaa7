#include "tools/replay/world_difference.h"

#include <algorithm>
#include <optional>

#include <boost/json/array.hpp>

#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::size_t value_columns_max = 60;

std::string line_of(const FieldDifference& each, std::size_t width, const Terminal& terminal) {
  const auto value = [&](const std::string& text, Style style) {
    const std::string shown = printable(text);
    return styled(terminal, style, terminal.columns ? cut(shown, value_columns_max) : shown);
  };
  std::string text = "           " + printable(each.field);
  text.append(width - std::min(width, each.field.size()), ' ');
  text += "  ";
  if (!each.before.empty()) text += value(each.before, Style::faint) + " ";
  if (!each.before.empty() || each.after.empty()) text += "→ ";
  return text + (each.after.empty() ? "gone" : value(each.after, Style::strong)) + "\n";
}

}  // namespace

Called<json::object> world_difference(ReplayWalk& walk, Position from, Position to) {
  const auto streams = walk.streams_between(from, to);
  if (!streams) return tl::unexpected(from_store_error(streams.error()));
  if (auto there = walk.go(from); !there) return tl::unexpected(from_store_error(there.error()));
  std::vector<std::optional<json::object>> before;
  for (const auto& each : *streams) before.push_back(noun_state(walk.world(), each.stream));
  if (auto there = walk.go(to); !there) return tl::unexpected(from_store_error(there.error()));
  json::array changes;
  auto state = before.begin();
  for (const auto& [stream, last_event, end] : *streams) {
    const auto was = std::move(*state++);
    const auto is = noun_state(walk.world(), stream);
    const auto fields = differences_of(stream, was, is, end ? &*end : nullptr);
    if (fields.empty()) continue;
    changes.push_back({{"stream", to_string(stream)},
                       {"change", change_between(was, is)},
                       {"last_event", last_event},
                       {"fields", describe_differences(fields)}});
  }
  return json::object{
      {"from", from}, {"to", to}, {"events", to - from}, {"changes", std::move(changes)}};
}

std::string view_world_difference(const json::object& difference, const Terminal& terminal) {
  std::string text;
  for (const json::value& each : array_at(difference, "changes")) {
    const json::object& change = each.get_object();
    text += styled(terminal, Style::strong, text_at(change, "stream")) + " " +
            text_at(change, "change") + " (" + text_at(change, "last_event") + ")\n";
    std::vector<FieldDifference> fields;
    for (const json::value& field : array_at(change, "fields")) {
      const json::object& object = field.get_object();
      fields.push_back({text_at(object, "field"), text_at(object, "from"), text_at(object, "to")});
    }
    text += view_differences(fields, terminal);
  }
  if (text.empty()) return "no difference in " + text_at(difference, "events") + " events\n";
  return text;
}

std::string view_differences(const std::vector<FieldDifference>& fields, const Terminal& terminal) {
  std::size_t width = 0;
  for (const FieldDifference& each : fields) width = std::max(width, each.field.size());
  std::string text;
  for (const FieldDifference& each : fields) {
    text += line_of(each, std::min<std::size_t>(width, 32), terminal);
  }
  return text;
}

}  // namespace signalbox
