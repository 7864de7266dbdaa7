#include "tools/replay/what_if_command.h"

#include <chrono>
#include <utility>
#include <vector>

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
  Position from = 1;
  Position to = 0;
};

Called<Position> first_position(const Invocation& invocation, const std::string& moment) {
  if (moment.empty()) return 1;
  const auto log = RocksEventLog::open(invocation.data_directory(), {.read_only = true});
  if (!log) return tl::unexpected(from_store_error(log.error()));
  const auto before = TRY(position_of_moment(**log, moment));
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
  return RecordedFlow{std::move(*recorder).finish(), meter.measures(), begin,
                      replayed.world.position};
}

json::object flow_json(const FlowMeasures& measures) {
  json::object flow = to_json(measures).as_object();
  const double hours = static_cast<double>(measures.makespan_ms) / 3'600'000.0;
  flow["succeeded_per_hour"] = hours > 0 ? static_cast<double>(measures.succeeded) / hours : 0.0;
  return flow;
}

json::object simulated_json(const WhatIf& simulation) {
  json::object flow = flow_json(simulation.measures);
  flow["attempts_drawn"] = simulation.drawn;
  flow["attempts_unknown"] = simulation.unknown;
  flow["unfinished"] = simulation.unfinished;
  return flow;
}

// One row of the comparison: a measure and how its value is formatted.
struct Line {
  const char* name;
  std::string (*shown)(const json::object& flow);
};

std::string duration_of(const json::object& flow, const char* field) {
  return short_duration(static_cast<std::int64_t>(number_at(flow, field)) * ns_per_ms);
}

std::string spread_text(const json::object& flow, const char* field) {
  const json::object& spread = object_at(flow, field);
  if (number_at(spread, "count") == 0) return "";
  return duration_of(spread, "p50_ms") + " / " + duration_of(spread, "p90_ms") + " / " +
         duration_of(spread, "max_ms");
}

std::string count_text(const json::object& flow, const char* field) {
  return std::to_string(number_at(flow, field));
}

std::string rate_text(const json::object& flow) {
  const json::value* rate = flow.if_contains("succeeded_per_hour");
  if (rate == nullptr || !rate->is_number()) return "";
  const auto tenths = static_cast<std::int64_t>(rate->to_number<double>() * 10.0 + 0.5);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

const std::vector<Line>& comparison_lines() {
  static const std::vector<Line> lines = {
      {"runs", [](const json::object& flow) { return count_text(flow, "runs"); }},
      {"succeeded", [](const json::object& flow) { return count_text(flow, "succeeded"); }},
      {"failed", [](const json::object& flow) { return count_text(flow, "failed"); }},
      {"canceled", [](const json::object& flow) { return count_text(flow, "canceled"); }},
      {"open", [](const json::object& flow) { return count_text(flow, "open"); }},
      {"cards merged", [](const json::object& flow) { return count_text(flow, "cards_merged"); }},
      {"first arrival to last end",
       [](const json::object& flow) { return duration_of(flow, "makespan_ms"); }},
      {"succeeded an hour", rate_text},
      {"run time, p50 / p90 / max",
       [](const json::object& flow) { return spread_text(flow, "run_time"); }},
      {"wait in a queue", [](const json::object& flow) { return spread_text(flow, "queue_wait"); }},
      {"wait of a card", [](const json::object& flow) { return spread_text(flow, "card_wait"); }},
      {"card to merge", [](const json::object& flow) { return spread_text(flow, "card_time"); }},
      {"attempts", [](const json::object& flow) { return count_text(flow, "attempts"); }},
      {"at once, at most", [](const json::object& flow) { return count_text(flow, "at_once"); }},
      {"retries", [](const json::object& flow) { return count_text(flow, "retries"); }},
      {"timeouts", [](const json::object& flow) { return count_text(flow, "timeouts"); }},
      {"stalls", [](const json::object& flow) { return count_text(flow, "stalls"); }},
      {"leases lost", [](const json::object& flow) { return count_text(flow, "leases_lost"); }},
      {"work done twice", [](const json::object& flow) { return count_text(flow, "duplicates"); }},
      {"time of that", [](const json::object& flow) { return duration_of(flow, "duplicated_ms"); }},
      {"time worked", [](const json::object& flow) { return duration_of(flow, "worked_ms"); }},
  };
  return lines;
}

bool is_zero(const std::string& shown) {
  return shown.empty() || shown == "0" || shown == "0.0" || shown == "0ms";
}

std::string caveats(const json::object& result) {
  const json::object& flow = object_at(result, "what_if");
  std::string text;
  const auto add_sentence = [&text](const std::string& sentence) { text += sentence + "\n"; };
  if (const auto drawn = number_at(flow, "attempts_drawn"); drawn > 0) {
    add_sentence(
        std::to_string(drawn) +
        " attempts weren't recorded; each was drawn at random from its station's attempts.");
  }
  if (const auto unknown = number_at(flow, "attempts_unknown"); unknown > 0) {
    add_sentence(std::to_string(unknown) +
                 " attempts were at stations without a recorded attempt; they took no time.");
  }
  if (const auto before = number_at(result, "runs_before"); before > 0) {
    add_sentence(std::to_string(before) + " runs that were open at the beginning are left out.");
  }
  if (true_at(flow, "unfinished")) {
    add_sentence("Open runs wait for a worker or a decision that was never recorded.");
  }
  return text;
}

}  // namespace

Called<json::object> run_what_if(const Invocation& invocation, const WhatIfOptions& options) {
  ServeOptions serve;
  serve.data = invocation.data_directory();
  const auto config = load_config(serve);
  if (!config) return tl::unexpected(usage_error(config.error()));
  const auto text = TRY(read_file(options.policy));
  const auto policy = read_what_if_policy(text, config->board);
  if (!policy) return tl::unexpected(from_rejection(policy.error()));
  const auto flow = TRY(read_flow(invocation, options));
  const WhatIfSettings settings{
      config->jobs_max, config->remote_jobs_max, flow.work.workers, options.seed, {}};
  WhatIfPolicy same;
  same.schedules = config->board;
  const auto begin = std::chrono::steady_clock::now();
  const WhatIf simulated = what_if(flow.work, same, settings);
  const WhatIf other = what_if(flow.work, *policy, settings);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  json::object result;
  result["from"] = flow.from;
  result["to"] = flow.to;
  result["runs_before"] = flow.work.runs_before;
  result["workers"] = flow.work.workers;
  result["recorded"] = flow_json(flow.measures);
  result["simulated"] = simulated_json(simulated);
  result["what_if"] = simulated_json(other);
  result["events_simulated"] = simulated.events + other.events;
  result["seconds"] = took.count();
  return result;
}

std::string view_what_if(const json::object& result, const Terminal& terminal) {
  TextTable table({{""},
                   {"recorded", TextTable::Align::right},
                   {"simulated", TextTable::Align::right},
                   {"what if", TextTable::Align::right}});
  for (const Line& line : comparison_lines()) {
    const std::string recorded = line.shown(object_at(result, "recorded"));
    const std::string simulated = line.shown(object_at(result, "simulated"));
    const std::string other = line.shown(object_at(result, "what_if"));
    if (is_zero(recorded) && is_zero(simulated) && is_zero(other)) continue;
    table.add({{line.name},
               {recorded},
               {simulated},
               {other, other == simulated ? Style::plain : Style::strong}});
  }
  const std::string notes = caveats(result);
  if (table.empty()) return "no run arrived in this part of the log\n" + notes;
  return table.text(terminal) + (notes.empty() ? "" : "\n" + notes);
}

}  // namespace signalbox
