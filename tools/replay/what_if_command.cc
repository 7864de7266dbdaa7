#include "tools/replay/what_if_command.h"

#include <array>
#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "domain/nanoseconds.h"
#include "domain/try.h"
#include "server/config.h"
#include "server/replay/what_if/what_if.h"
#include "server/text/described_json.h"
#include "store/rocks_event_log.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/past_call.h"
#include "tools/cli/text_source.h"
#include "tools/cli/text_table.h"
#include "tools/replay/replay.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct RecordedFlow {
  RecordedWork work;
  FlowMeasures measures;
  FlowOverTime over_time;
  Position from = 1;
  Position to = 0;
};

Called<Position> first_position(const Invocation& invocation, const std::string& moment) {
  if (moment.empty()) return 1;
  const auto log =
      TRY(called(RocksEventLog::open(invocation.data_directory(), {.read_only = true})));
  const auto before = TRY(position_of_moment(invocation, *log, moment));
  return before + 1;
}

Called<RecordedFlow> read_flow(const Invocation& invocation, const WhatIfOptions& options) {
  const auto from = TRY(first_position(invocation, options.from));
  std::optional<WorkRecorder> recorder;
  FlowMeter meter;
  bool fits = true;
  Position begin = from;
  ReplayRequest request{invocation.data_directory(), options.to, false, false, {}, 0};
  // If records were dropped, the remaining log begins later.
  request.begun = [&](const World& world) {
    if (world.position + 1 < from) return;
    begin = world.position + 1;
    recorder.emplace(world);
  };
  request.folded = [&](const World& world, const Record& record) {
    if (recorder) {
      meter.apply(record);
      fits = fits && recorder->apply(world, record);
    } else if (record.position + 1 == from) {
      recorder.emplace(world);
    }
  };
  const auto replayed = TRY(replay(request));
  if (!fits) {
    return tl::unexpected(usage_error("there are more than " +
                                      std::to_string(recorded_attempts_max) +
                                      " attempts; take a part of the log with --from and --to"));
  }
  if (!recorder) {
    return tl::unexpected(usage_error("--from is after the end of what is read, which is at " +
                                      std::to_string(replayed.world.position)));
  }
  return RecordedFlow{std::move(*recorder).finish(), meter.measures(), meter.over_time(), begin,
                      replayed.world.position};
}

json::object flow_json(const FlowMeasures& measures, const FlowOverTime& over_time) {
  json::object flow = to_json(measures).as_object();
  const double hours = static_cast<double>(measures.makespan_ms) / 3'600'000.0;
  flow["succeeded_per_hour"] = hours > 0 ? static_cast<double>(measures.succeeded) / hours : 0.0;
  flow["over_time"] = to_json(over_time);
  return flow;
}

json::object simulated_json(const WhatIf& simulation) {
  json::object flow = flow_json(simulation.measures, simulation.over_time);
  flow["attempts_drawn"] = simulation.drawn;
  flow["attempts_unknown"] = simulation.unknown;
  flow["attempts_kept"] = simulation.kept;
  flow["unfinished"] = simulation.unfinished;
  return flow;
}

// One row of the comparison.
struct ComparisonLine {
  enum class Unit { count, duration, rate };
  const char* name;
  const char* spread;  // the distribution that the measure is of; nullptr: none
  const char* field;
  Unit unit = Unit::count;
};

constexpr std::array<ComparisonLine, 25> comparison_lines = {{
    {"runs", nullptr, "runs"},
    {"succeeded", nullptr, "succeeded"},
    {"failed", nullptr, "failed"},
    {"canceled", nullptr, "canceled"},
    {"open", nullptr, "open"},
    {"cards merged", nullptr, "cards_merged"},
    {"first arrival to last end", nullptr, "makespan_ms", ComparisonLine::Unit::duration},
    {"succeeded an hour", nullptr, "succeeded_per_hour", ComparisonLine::Unit::rate},
    {"run time, median", "run_time", "p50_ms", ComparisonLine::Unit::duration},
    {"run time, longest", "run_time", "max_ms", ComparisonLine::Unit::duration},
    {"wait in a queue, median", "queue_wait", "p50_ms", ComparisonLine::Unit::duration},
    {"wait in a queue, longest", "queue_wait", "max_ms", ComparisonLine::Unit::duration},
    {"wait of a card, median", "card_wait", "p50_ms", ComparisonLine::Unit::duration},
    {"wait of a card, longest", "card_wait", "max_ms", ComparisonLine::Unit::duration},
    {"card to merge, median", "card_time", "p50_ms", ComparisonLine::Unit::duration},
    {"card to merge, longest", "card_time", "max_ms", ComparisonLine::Unit::duration},
    {"attempts", nullptr, "attempts"},
    {"at once, at most", nullptr, "at_once"},
    {"retries", nullptr, "retries"},
    {"timeouts", nullptr, "timeouts"},
    {"stalls", nullptr, "stalls"},
    {"leases lost", nullptr, "leases_lost"},
    {"work done twice", nullptr, "duplicates"},
    {"time of that", nullptr, "duplicated_ms", ComparisonLine::Unit::duration},
    {"time worked", nullptr, "worked_ms", ComparisonLine::Unit::duration},
}};

// Returns the measure of a line; nullopt if nothing was measured.
std::optional<double> figure_of(const json::object& flow, const ComparisonLine& line) {
  const json::object& place = line.spread == nullptr ? flow : object_at(flow, line.spread);
  if (line.spread != nullptr && number_at(place, "count") == 0) return std::nullopt;
  const json::value* figure = place.if_contains(line.field);
  if (figure == nullptr || !figure->is_number()) return std::nullopt;
  return figure->to_number<double>();
}

std::string figure_text(const std::optional<double>& figure, ComparisonLine::Unit unit) {
  if (!figure) return {};
  switch (unit) {
    case ComparisonLine::Unit::count:
      return std::to_string(std::llround(*figure));
    case ComparisonLine::Unit::duration:
      return short_duration(std::llround(*figure) * ns_per_ms);
    case ComparisonLine::Unit::rate: {
      const long long tenths = std::llround(*figure * 10);
      return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
    }
  }
  return {};
}

// Returns by which part of it the replay misses what was recorded; nullopt if that is nothing.
std::optional<double> error_of(const json::object& recorded, const json::object& replayed,
                               const ComparisonLine& line) {
  const auto was = figure_of(recorded, line);
  const auto is = figure_of(replayed, line);
  if (!was || !is || *was == 0) return std::nullopt;
  return (*is - *was) / *was;
}

std::string percent_text(const std::optional<double>& part) {
  if (!part) return {};
  const long long percent = std::llround(*part * 100);
  return (percent > 0 ? "+" : "") + std::to_string(percent) + " %";
}

json::object errors_json(const json::object& recorded, const json::object& replayed) {
  json::object errors;
  for (const ComparisonLine& line : comparison_lines) {
    const std::string name = line.spread == nullptr ? "" : std::string(line.spread) + ".";
    if (const auto error = error_of(recorded, replayed, line)) errors[name + line.field] = *error;
  }
  return errors;
}

bool is_zero(const std::string& shown) {
  return shown.empty() || shown == "0" || shown == "0.0" || shown == "0ms";
}

std::string caveats(const json::object& result) {
  const json::object& flow = object_at(result, "what_if");
  std::string text;
  const auto add_sentence = [&text](const std::string& sentence) { text += sentence + "\n"; };
  if (const auto drawn = number_at(flow, "attempts_drawn"); drawn > 0) {
    add_sentence(std::to_string(drawn) +
                 (drawn == 1 ? " attempt wasn't recorded; it was drawn at random"
                             : " attempts weren't recorded; each was drawn at random"));
    add_sentence("from its station's attempts.");
  }
  if (const auto unknown = number_at(flow, "attempts_unknown"); unknown > 0) {
    add_sentence(
        std::to_string(unknown) +
        (unknown == 1
             ? " attempt was at a station without a recorded attempt; it took no time."
             : " attempts were at stations without a recorded attempt; they took no time."));
  }
  if (const auto kept = number_at(flow, "attempts_kept"); kept > 0) {
    const bool is_one = kept == 1;
    add_sentence(std::to_string(kept) +
                 (is_one ? " attempt keeps the lease that it lost. When it would have ended"
                         : " attempts keep the lease that they lost. When they would have ended") +
                 " isn't in the");
    add_sentence(
        is_one
            ? "log: it ends when its worker claimed again, or takes as long as other attempts."
            : "log: they end when their worker claimed again, or take as long as other attempts.");
  }
  if (const auto before = number_at(result, "runs_before"); before > 0) {
    add_sentence(std::to_string(before) +
                 (before == 1 ? " run that was open at the beginning is left out."
                              : " runs that were open at the beginning are left out."));
  }
  if (true_at(flow, "unfinished")) {
    add_sentence("Open runs wait for a worker or a decision that was never recorded.");
  }
  return text;
}

// Applies settings of the table [board] that were given as KEY=VALUE.
Called<BoardTexts> board_in_force(BoardTexts board, const std::vector<std::string>& given) {
  for (const std::string& setting : given) {
    const std::size_t end = setting.find('=');
    std::string* const text =
        end == std::string::npos ? nullptr : board_text(board, setting.substr(0, end));
    if (text == nullptr) {
      return tl::unexpected(usage_error(
          "--board takes KEY=VALUE, such as heartbeat=2m, with one of the keys heartbeat, "
          "synthesizer, prune, prune_after and time_zone; not " +
          setting));
    }
    *text = setting.substr(end + 1);
  }
  if (const auto read = read_board_settings(board); !read) {
    return tl::unexpected(usage_error("--board: " + read.error()));
  }
  return board;
}

}  // namespace

Called<json::object> run_what_if(const Invocation& invocation, const WhatIfOptions& options) {
  ServeOptions serve;
  serve.data = invocation.data_directory();
  serve.config = options.config;
  serve.jobs_max = options.jobs_max;
  serve.remote_jobs_max = options.remote_jobs_max;
  const auto config = load_config(serve);
  if (!config) return tl::unexpected(usage_error(config.error()));
  const auto board = TRY(board_in_force(config->board, options.board));
  const auto text = TRY(read_file(options.policy));
  const auto policy = read_what_if_policy(text, board);
  if (!policy) return tl::unexpected(from_rejection(policy.error()));
  const auto flow = TRY(read_flow(invocation, options));
  const WhatIfSettings settings{
      config->jobs_max, config->remote_jobs_max, flow.work.workers, options.seed, {}};
  WhatIfPolicy same;
  same.schedules = board;
  const auto begin = std::chrono::steady_clock::now();
  const WhatIf simulated = what_if(flow.work, same, settings);
  const WhatIf other = what_if(flow.work, *policy, settings);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  json::object result;
  result["from"] = flow.from;
  result["to"] = flow.to;
  result["runs_before"] = flow.work.runs_before;
  result["workers"] = flow.work.workers;
  result["jobs_max"] = config->jobs_max;
  result["remote_jobs_max"] = config->remote_jobs_max;
  result["board"] = {{"heartbeat", board.heartbeat}, {"synthesizer", board.synthesizer}};
  result["recorded"] = flow_json(flow.measures, flow.over_time);
  result["simulated"] = simulated_json(simulated);
  result["error"] =
      errors_json(result.at("recorded").as_object(), result.at("simulated").as_object());
  result["what_if"] = simulated_json(other);
  result["events_simulated"] = simulated.events + other.events;
  result["seconds"] = took.count();
  return result;
}

std::string view_what_if(const json::object& result, const Terminal& terminal) {
  TextTable table({{""},
                   {"recorded", TextTable::Align::right},
                   {"replayed", TextTable::Align::right},
                   {"error", TextTable::Align::right},
                   {"forecast", TextTable::Align::right}});
  const json::object& was = object_at(result, "recorded");
  const json::object& is = object_at(result, "simulated");
  for (const ComparisonLine& line : comparison_lines) {
    const std::string recorded = figure_text(figure_of(was, line), line.unit);
    const std::string replayed = figure_text(figure_of(is, line), line.unit);
    const std::string forecast =
        figure_text(figure_of(object_at(result, "what_if"), line), line.unit);
    if (is_zero(recorded) && is_zero(replayed) && is_zero(forecast)) continue;
    table.add({{line.name},
               {recorded},
               {replayed},
               {percent_text(error_of(was, is, line)), Style::faint},
               {forecast, forecast == replayed ? Style::plain : Style::strong}});
  }
  const std::string notes = caveats(result);
  if (table.empty()) return "no run arrived in this part of the log\n" + notes;
  return table.text(terminal) + (notes.empty() ? "" : "\n" + notes);
}

}  // namespace signalbox
