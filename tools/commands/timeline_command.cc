// `signalbox timeline`: how much happened when, what failed or crashed, and runs or locks as bars.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "domain/try.h"
#include "server/text/time_text.h"
#include "tools/cli/commands.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/cli/text_table.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::size_t scale_columns_default = 48;
constexpr std::size_t scale_columns_min = 16;
// What the texts beside the scale may take of a line: longer ones are cut.
constexpr std::size_t name_columns_max = 24;
constexpr std::size_t last_columns_max = 18;  // of the goal or the owners
constexpr std::size_t count_columns = 5;
constexpr std::size_t gap_columns = 2;

struct TimelineOptions {
  std::string from = "24h";
  std::optional<std::string> to, group, project;
  std::uint32_t rows = 20;
};

// A line of characters, each a part of the time between two others.
class TimeScale {
 public:
  TimeScale(std::int64_t from_ns, std::int64_t to_ns, std::size_t columns)
      : from_ns_(from_ns), to_ns_(std::max(to_ns, from_ns + 1)), columns_(columns) {}

  [[nodiscard]] std::size_t columns() const { return columns_; }
  // Returns the column of a time; the first or the last one for those outside.
  [[nodiscard]] std::size_t column_of(const std::string& time) const {
    const std::int64_t at_ns = std::clamp(parse_time(time).value_or(from_ns_), from_ns_, to_ns_);
    const double share =
        static_cast<double>(at_ns - from_ns_) / static_cast<double>(to_ns_ - from_ns_);
    return std::min(columns_ - 1, static_cast<std::size_t>(share * static_cast<double>(columns_)));
  }

 private:
  std::int64_t from_ns_;
  std::int64_t to_ns_;
  std::size_t columns_;
};

std::string joined_line(const std::vector<std::string>& columns) {
  std::string line;
  for (const std::string& column : columns) line += column;
  return line;
}

// Draws how many events there were, relative to the column that has the most.
std::string events_line(const TimeScale& scale, const json::object& histogram) {
  static constexpr std::array<const char*, 8> heights = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::vector<std::uint64_t> counts(scale.columns(), 0);
  for (const json::value& each : array_at(histogram, "buckets")) {
    const json::object& bucket = each.as_object();
    counts[scale.column_of(text_at(bucket, "at"))] += number_at(bucket, "events");
  }
  const std::uint64_t most = std::max<std::uint64_t>(1, *std::ranges::max_element(counts));
  std::vector<std::string> line;
  for (const std::uint64_t count : counts) {
    line.emplace_back(count == 0 ? " " : heights.at((count * heights.size() - 1) / most));
  }
  return joined_line(line);
}

// Draws the failures and what happened to the service itself: a crash hides all others.
std::string marks_line(const TimeScale& scale, const json::array& marks) {
  static constexpr std::array<std::pair<const char*, const char*>, 5> signs = {
      {{"stop", "○"}, {"start", "●"}, {"clock_jump", "~"}, {"failure", "!"}, {"crash", "✖"}}};
  std::vector<std::string> line(scale.columns(), " ");
  for (const auto& [kind, sign] : signs) {
    for (const json::value& each : marks) {
      const json::object& mark = each.as_object();
      if (text_at(mark, "kind") == kind) line[scale.column_of(text_at(mark, "at"))] = sign;
    }
  }
  return joined_line(line);
}

// Draws the runs or holds of a row: what failed hides all others.
std::string bars_line(const TimeScale& scale, const json::array& bars) {
  static constexpr std::array<std::pair<const char*, const char*>, 9> signs = {{{"canceled", "░"},
                                                                                {"succeeded", "█"},
                                                                                {"released", "█"},
                                                                                {"queued", "▒"},
                                                                                {"paused", "▒"},
                                                                                {"running", "▓"},
                                                                                {"held", "▓"},
                                                                                {"failed", "!"},
                                                                                {"expired", "!"}}};
  std::vector<std::string> line(scale.columns(), "·");
  for (const auto& [status, sign] : signs) {
    for (const json::value& each : bars) {
      const json::object& bar = each.as_object();
      if (text_at(bar, "status") != status) continue;
      const std::size_t last = scale.column_of(text_at(bar, "to"));
      for (std::size_t at = scale.column_of(text_at(bar, "from")); at <= last; ++at) {
        line[at] = sign;
      }
    }
  }
  return joined_line(line);
}

// Returns the owners of a lock's bars, each once, the earliest first.
std::string owners_text(const json::array& bars) {
  std::vector<std::pair<std::string, std::string>> holds;  // when, by whom
  for (const json::value& each : bars) {
    const json::object& bar = each.as_object();
    if (bar.contains("owner")) holds.emplace_back(text_at(bar, "from"), text_at(bar, "owner"));
  }
  std::ranges::sort(holds);
  std::vector<std::string> owners;
  for (const auto& [from, owner] : holds) {
    if (std::ranges::find(owners, owner) == owners.end()) owners.push_back(owner);
  }
  std::string text;
  for (const std::string& owner : owners) text += (text.empty() ? "" : ", ") + owner;
  return text;
}

bool is_of_locks(const json::object& timeline) { return timeline.contains("holds_total"); }

std::string name_of(const json::object& row) {
  std::string name = text_at(row, "name");
  if (row.contains("goal")) name = name.substr(name.size() - std::min<std::size_t>(8, name.size()));
  return name.empty() ? "(none)" : name;
}

// Returns the goal of a run, or the owners of a lock.
std::string last_text(const json::object& timeline, const json::object& row) {
  return is_of_locks(timeline) ? owners_text(array_at(row, "bars")) : text_at(row, "goal");
}

// Returns the times of the scale's ends.
std::string scale_header(const json::object& timeline, std::int64_t now_ns) {
  return clock_minutes(text_at(timeline, "from"), now_ns) + " to " +
         clock_minutes(text_at(timeline, "to"), now_ns);
}

// Returns how many columns are left for the scale beside the texts, at least those of its header.
std::size_t scale_columns(const json::object& timeline, const Terminal& terminal,
                          std::int64_t now_ns) {
  if (!terminal.columns) return scale_columns_default;
  std::size_t name = columns_of("events");
  std::size_t last = 0;
  for (const json::value& each : array_at(timeline, "rows")) {
    const json::object& row = each.as_object();
    name = std::max(name, columns_of(printable(name_of(row))));
    last = std::max(last, columns_of(printable(last_text(timeline, row))));
  }
  if (last > 0) last = std::max(last, columns_of("owners")) + gap_columns;
  const std::size_t beside = std::min(name, name_columns_max) + 2 * gap_columns + count_columns +
                             std::min(last, last_columns_max + gap_columns);
  return std::max({scale_columns_min, columns_of(scale_header(timeline, now_ns)),
                   *terminal.columns - std::min(*terminal.columns, beside)});
}

std::string view_timeline(const json::object& result, const Terminal& terminal,
                          std::int64_t now_ns) {
  const json::object& timeline = object_at(result, "timeline");
  const TimeScale scale(parse_time(text_at(timeline, "from")).value_or(0),
                        parse_time(text_at(timeline, "to")).value_or(0),
                        scale_columns(timeline, terminal, now_ns));
  const bool has_holds = is_of_locks(timeline);
  TextTable table({{""},
                   TextTable::picture(scale_header(timeline, now_ns)),
                   {has_holds ? "holds" : "runs", TextTable::Align::right},
                   {has_holds ? "owners" : "goal"}});
  table.add({{"events"}, {events_line(scale, object_at(result, "histogram"))}, {""}, {""}});
  table.add({{"marks"}, {marks_line(scale, array_at(result, "marks")), Style::bad}, {""}, {""}});
  for (const json::value& each : array_at(timeline, "rows")) {
    const json::object& row = each.as_object();
    table.add({{name_of(row), Style::strong},
               {bars_line(scale, array_at(row, "bars"))},
               {text_at(row, has_holds ? "holds" : "runs")},
               {last_text(timeline, row)}});
  }
  std::string text = table.text(terminal);
  const std::uint64_t rows = number_at(timeline, "rows_total");
  if (rows > array_at(timeline, "rows").size()) {
    text += std::to_string(rows) + " rows in all: --rows shows more\n";
  }
  return text;
}

Called<json::object> read_timeline_parts(const Invocation& invocation,
                                         const TimelineOptions& options, const Terminal& terminal,
                                         std::int64_t now_ns) {
  json::object span{{"from", options.from}};
  set_param(span, "to", options.to);
  json::object params = span;
  params["max_rows"] = options.rows;
  set_param(params, "group", options.group);
  set_param(params, "project", options.project);
  json::object result;
  auto timeline = TRY(call_server(invocation, "timeline.get", std::move(params)));
  params = span;
  params["buckets"] = scale_columns(timeline, terminal, now_ns);
  auto histogram = TRY(call_server(invocation, "events.histogram", std::move(params)));
  // The latest ones, if there are more.
  params = span;
  params["limit"] = 1000;
  params["backwards"] = true;
  auto marks = TRY(call_server(invocation, "log.marks", std::move(params)));
  result["timeline"] = std::move(timeline);
  result["histogram"] = std::move(histogram);
  result["marks"] = std::move(marks.at("marks"));
  return result;
}

}  // namespace

void add_timeline_command(ToolCommand app, Invocation& invocation) {
  ToolCommand command = app.add_subcommand(
      "timeline", "When how much happened, what failed, and runs or locks as bars");
  const auto options = std::make_shared<TimelineOptions>();
  command
      .add_option("--from", options->from, "The beginning: a position, a time (RFC 3339) or an age")
      .type_name("MOMENT")
      .shows_default();
  command.add_option("--to", options->to, "The end, likewise; default: now").type_name("MOMENT");
  command.add_option("--group", options->group, "A line for each of these; default: run")
      .one_of({"run", "project", "pipeline", "worker", "lock"});
  command.add_option("--project", options->project, "Only runs of this project");
  command.add_option("--rows", options->rows, "The number of lines, at most 1,000").shows_default();
  command.footer(
      "The bars: ▒ queued or paused, ▓ running, █ succeeded, ░ canceled, ! failed; of\n"
      "locks: ▓ held, █ released, ! expired.\n"
      "The marks: ● start of the service, ○ stop, ✖ crash, ~ jump of the clock, ! a run\n"
      "failed.\n\n"
      "Examples:\n"
      "  signalbox timeline --from 8h\n"
      "  signalbox timeline --from 2026-11-20T18:00:00Z --group project\n"
      "  signalbox timeline --group lock\n"
      "  signalbox timeline --json | jq '.result.marks[] | select(.kind == \"crash\")'");
  command.action([options, &invocation] {
    const std::int64_t now_ns = wall_clock_ns();
    return answer(invocation,
                  read_timeline_parts(invocation, *options, output_terminal(invocation), now_ns),
                  [now_ns](const json::object& result, const Terminal& terminal) {
                    return view_timeline(result, terminal, now_ns);
                  });
  });
}

}  // namespace signalbox
