#include "tools/replay/change_list.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>

#include "domain/try.h"
#include "projections/change_summary.h"
#include "server/replay/replay_walk.h"
#include "server/text/time_text.h"
#include "store/entry.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// Items of a group in the answer, and of all groups on the screen.
constexpr std::size_t group_items_max = 20;
constexpr std::size_t screen_items_max = 14;
constexpr std::size_t shown_id_characters = 8;

struct ChangeGroup {
  StreamKind kind;
  const char* name;
};

// In the order in which they are shown.
constexpr std::array<ChangeGroup, 5> change_groups = {{{StreamKind::run, "runs"},
                                                       {StreamKind::card, "cards"},
                                                       {StreamKind::project, "projects"},
                                                       {StreamKind::lock, "locks"},
                                                       {StreamKind::tick, "loops"}}};

// Returns the first items of a group: by what they need, then the latest first.
std::vector<StreamChange> first_changes(const std::deque<StreamChange>& changes, StreamKind kind) {
  struct Ranked {
    std::size_t rank;
    const StreamChange* change;
  };
  std::vector<Ranked> all;
  for (const StreamChange& change : changes) {
    if (change.stream.kind != kind || change.state.empty()) continue;
    all.push_back({rank_of_state(change.state), &change});
  }
  const std::size_t shown = std::min(all.size(), group_items_max);
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(shown), all.end(),
                    [](const Ranked& a, const Ranked& b) {
                      return std::tie(a.rank, b.change->position) <
                             std::tie(b.rank, a.change->position);
                    });
  std::vector<StreamChange> first;
  for (std::size_t each = 0; each < shown; ++each) first.push_back(*all[each].change);
  return first;
}

// Names runs and cards from before `from`, which the records don't name. What can't be read stays
// without a name.
void add_old_names(const EventLog& log, const std::filesystem::path& data, Position from,
                   std::vector<StreamChange>& changes) {
  const auto has_no_name = [](const StreamChange& change) { return change.name.empty(); };
  if (from == 0 || std::none_of(changes.begin(), changes.end(), has_no_name)) return;
  ReplayWalk walk(log, data);
  if (!walk.go(from)) return;
  for (StreamChange& change : changes) {
    if (!has_no_name(change)) continue;
    if (const Run* run = walk.world().find_run(change.stream.run_id)) change.name = run->goal;
    if (const Card* card = walk.world().board.find(change.stream.run_id)) change.name = card->title;
  }
}

json::object item_json(const StreamChange& change) {
  json::object item{{"stream", to_string(change.stream)}, {"state", change.state}};
  item["new"] = change.is_new;
  item["name"] = change.name;
  item["text"] = change.text;
  item["at"] = format_time(change.at_ns);
  item["position"] = change.position;
  return item;
}

json::object counts_json(const std::deque<StreamChange>& changes, StreamKind kind,
                         std::uint64_t& total) {
  std::map<std::pair<std::size_t, std::string_view>, std::uint64_t> counts;
  for (const StreamChange& change : changes) {
    if (change.stream.kind != kind || change.state.empty()) continue;
    ++counts[{rank_of_state(change.state), change.state}];
    ++total;
  }
  json::object shown;
  for (const auto& [state, count] : counts) shown[state.second] = count;
  return shown;
}

void add_counted(const char* kind, const std::map<std::string_view, std::uint64_t>& counts,
                 json::array& groups) {
  if (counts.empty()) return;
  json::object shown;
  std::uint64_t total = 0;
  for (const auto& [what, count] : counts) {
    shown[what] = count;
    total += count;
  }
  groups.push_back(
      {{"kind", kind}, {"total", total}, {"counts", std::move(shown)}, {"items", json::array()}});
}

Called<std::int64_t> time_of(const EventLog& log, Position position) {
  const auto at_ns = recorded_at(log, position);
  if (!at_ns) return tl::unexpected(from_store_error(at_ns.error()));
  return *at_ns;
}

std::string counted_text(const json::object& counts) {
  std::string text;
  for (const auto& [state, count] : counts) {
    const std::string number = scalar_text(count);
    std::string words(state);
    if (number != "1" && words.starts_with("waits ")) words.erase(4, 1);  // 2 wait for a person
    text += (text.empty() ? "" : ", ") + number + " " + words;
  }
  return text;
}

std::string item_line(const json::object& item, const Terminal& terminal) {
  const std::string stream = text_at(item, "stream");
  std::string subject = text_at(item, "name");
  if (stream.starts_with("run/") || stream.starts_with("card/")) {
    const std::size_t tail = stream.size() - std::min(stream.size(), shown_id_characters);
    subject = "…" + stream.substr(tail) + (subject.empty() ? "" : " ") + subject;
  }
  std::string line = "  " + clock_time(text_at(item, "at"), wall_clock_ns()) + "  " +
                     text_at(item, "state") + "  " + subject;
  const std::string text = text_at(item, "text");
  if (!text.empty()) line += ": " + text;
  std::replace(line.begin(), line.end(), '\n', ' ');
  return terminal.columns ? cut(line, *terminal.columns) : line;
}

// Returns how many items of each group the screen has: one of each in turn.
std::vector<std::size_t> share_of_screen(const json::array& groups) {
  std::vector<std::size_t> shown(groups.size(), 0);
  std::size_t left = screen_items_max;
  for (bool added = true; added && left > 0;) {
    added = false;
    for (std::size_t group = 0; group < groups.size() && left > 0; ++group) {
      if (shown[group] == array_at(groups[group].as_object(), "items").size()) continue;
      ++shown[group];
      --left;
      added = true;
    }
  }
  return shown;
}

constexpr std::size_t value_columns_max = 60;
constexpr std::size_t values_columns_min = 30;  // of both, beside the field

// Cuts the values of a field so that both of them, and the arrow between them, take at most that
// many columns. What one doesn't need is the other's.
void cut_values(std::string& before, std::string& after, std::size_t columns) {
  constexpr std::size_t arrow = 3;
  const std::size_t left = columns - std::min(columns, before.empty() ? 0 : arrow);
  const std::size_t wants_before = std::min(columns_of(before), value_columns_max);
  const std::size_t wants_after = std::min(columns_of(after), value_columns_max);
  const std::size_t half = left / 2;
  before = cut(before, std::min(wants_before, left - std::min(wants_after, left - half)));
  after = cut(after, std::min(wants_after, left - columns_of(before)));
}

// A field with a long name has its values on the next line.
std::string line_of(const FieldDifference& each, std::size_t width, const Terminal& terminal) {
  constexpr std::size_t indent = 11;
  std::string name = printable(each.field);
  std::string before = printable(each.before);
  std::string after = each.after.empty() ? "gone" : printable(each.after);
  std::string text(indent, ' ');
  std::size_t taken = indent + std::max(width, columns_of(name)) + 2;
  if (terminal.columns) {
    name = cut(name, *terminal.columns - std::min(*terminal.columns, indent));
    const bool is_below = taken + values_columns_min > *terminal.columns;
    if (is_below) taken = indent + 2;
    cut_values(before, after, *terminal.columns - std::min(*terminal.columns, taken));
    text += name + (is_below ? "\n" + std::string(taken, ' ')
                             : std::string(taken - indent - columns_of(name), ' '));
  } else {
    text += name + std::string(taken - indent - columns_of(name), ' ');
  }
  if (!each.before.empty()) text += styled(terminal, Style::faint, before) + " ";
  if (!each.before.empty() || each.after.empty()) text += "→ ";
  return text + (each.after.empty() ? after : styled(terminal, Style::strong, after)) + "\n";
}

}  // namespace

Called<json::object> list_changes(const EventLog& log, const std::filesystem::path& data,
                                  Position from, Position to) {
  ChangeSummary summary;
  const auto scanned = log.scan(from + 1, to, [&summary](Record&& record) {
    summary.apply(record);
    return true;
  });
  if (!scanned) return tl::unexpected(from_store_error(scanned.error()));
  if (*scanned < to) {
    return tl::unexpected(from_store_error(
        damaged_at(*scanned + 1, "the log's records end before its head says so")));
  }
  json::array groups;
  for (const ChangeGroup& group : change_groups) {
    std::uint64_t total = 0;
    json::object counts = counts_json(summary.changes(), group.kind, total);
    if (total == 0) continue;
    std::vector<StreamChange> first = first_changes(summary.changes(), group.kind);
    add_old_names(log, data, from, first);
    json::array items;
    for (const StreamChange& change : first) items.push_back(item_json(change));
    groups.push_back({{"kind", group.name},
                      {"total", total},
                      {"counts", std::move(counts)},
                      {"items", std::move(items)}});
  }
  add_counted("server", summary.of_service(), groups);
  add_counted("access", summary.of_access(), groups);
  json::object result{{"from", from}, {"to", to}, {"events", to - from}};
  if (from < to) {
    const auto since_ns = TRY(time_of(log, from + 1));
    const auto until_ns = TRY(time_of(log, to));
    result["since"] = format_time(since_ns);
    result["until"] = format_time(until_ns);
  }
  result["summary"] = std::move(groups);
  return result;
}

std::string view_changes(const json::object& changes, const Terminal& terminal) {
  const json::array& groups = array_at(changes, "summary");
  std::string events = text_at(changes, "events");
  events += events == "1" ? " event" : " events";
  if (groups.empty()) return "no difference in " + events + "\n";
  const std::int64_t now_ns = wall_clock_ns();
  std::string text = events + " from " + clock_time(text_at(changes, "since"), now_ns) + " to " +
                     clock_time(text_at(changes, "until"), now_ns) + "\n";
  const std::vector<std::size_t> shown = share_of_screen(groups);
  std::uint64_t left_out = 0;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const json::object& each = groups[group].as_object();
    const std::string kind = text_at(each, "kind");
    const json::array& items = array_at(each, "items");
    const std::string line =
        kind + std::string(10 - kind.size(), ' ') + counted_text(object_at(each, "counts"));
    text += styled(terminal, Style::strong, kind) +
            broken_message(line, terminal).substr(kind.size()) + "\n";
    for (std::size_t item = 0; item < shown[group]; ++item) {
      text += item_line(items[item].as_object(), terminal) + "\n";
    }
    if (!items.empty()) left_out += number_at(each, "total") - shown[group];
  }
  text += (left_out == 0 ? "details: " : std::to_string(left_out) + " more, and details: ");
  return text + with_connection("signalbox diff --from " + text_at(changes, "from") + " --to " +
                                    text_at(changes, "to") + " --all\n",
                                terminal.connection);
}

Called<json::object> world_difference(ReplayWalk& walk, Position from, Position to) {
  const auto streams = TRY(called(walk.streams_between(from, to)));
  TRY(called(walk.go(from)));
  std::vector<std::optional<json::object>> before;
  for (const auto& each : streams) before.push_back(noun_state(walk.world(), each.stream));
  TRY(called(walk.go(to)));
  json::array changes;
  auto state = before.begin();
  for (const auto& [stream, last_event, end] : streams) {
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
    const json::object& change = each.as_object();
    text += styled(terminal, Style::strong, text_at(change, "stream")) + " " +
            text_at(change, "change") + " (" + text_at(change, "last_event") + ")\n";
    std::vector<FieldDifference> fields;
    for (const json::value& field : array_at(change, "fields")) {
      const json::object& object = field.as_object();
      fields.push_back({text_at(object, "field"), text_at(object, "from"), text_at(object, "to")});
    }
    text += view_differences(fields, terminal);
  }
  if (text.empty())
    return "no difference in " + number_of(number_at(difference, "events"), "event") + "\n";
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
