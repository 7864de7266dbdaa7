// `report.get`: what happened since a moment, and what waits for a person now, in one answer.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/describe/enum_to_string.hpp>
#include <boost/json/array.hpp>

#include "domain/nanoseconds.h"
#include "domain/try.h"
#include "projections/report.h"
#include "server/access/caller.h"
#include "server/engine/dropped_history.h"
#include "server/engine/engine.h"
#include "server/followers/projector.h"
#include "server/limits.h"
#include "server/platform/clock.h"
#include "server/rpc/askers.h"
#include "server/rpc/command_call.h"
#include "server/rpc/methods/attention_views.h"
#include "server/rpc/methods/families.h"
#include "server/rpc/methods/report_period.h"
#include "server/rpc/page_limit.h"
#include "server/rpc/read_models.h"
#include "server/text/described_json.h"
#include "server/text/time_text.h"
#include "store/event_log.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// Entries of each list in the answer; the totals count the others.
constexpr std::size_t report_entries_shown_max = 10;
constexpr std::size_t costliest_runs_shown = 3;

// A period whose records take longer to read is cut to as many of its newest ones as can be read in
// half the time: whoever asks for a year on a slow disk gets an answer with less instead of none.
constexpr std::int64_t report_read_ms_max = 25'000;
constexpr std::uint64_t records_between_looks = 16;  // at the clock
constexpr int report_reads_max = 2;
static_assert(report_reads_max * report_read_ms_max < limits::report_hang_ms_max);

struct GetReport {
  std::optional<std::string> since;  // a position, a time or an age
  std::optional<std::uint32_t> spans;
};
BOOST_DESCRIBE_STRUCT(GetReport, (), (since, spans))

// What `report.get` needs beside the Api.
struct ReportSources {
  ServiceSources service;
  ReportParts own;
};
using ReportContext = std::shared_ptr<const ReportSources>;

struct ReportQuestion {
  std::string caller;
  ReportSince since;
  std::uint32_t spans = 0;  // of what was going on over time; 0: none
};

// What the engine's thread knows.
struct ReportMoment {
  Position position = 0;
  std::int64_t now_ns = 0;  // UTC
  ReportSince since;
  std::uint32_t spans = 0;
  std::map<RunStatus, std::uint64_t> open;         // runs
  std::vector<std::pair<Token, RunId>> under_way;  // attempts
  AttentionMoment waiting;
};

AttentionQuestion first_waiting() { return {{}, report_entries_shown_max}; }

ReportMoment report_moment(const Api& api, const ServiceSources& sources,
                           const ReportQuestion& question) {
  const World& world = api.engine.world();
  ReportMoment moment;
  moment.position = world.position;
  moment.now_ns = api.clock.wall_ns();
  moment.since = question.since;
  moment.spans = question.spans;
  for (const RunStatus status : {RunStatus::queued, RunStatus::running, RunStatus::paused}) {
    moment.open[status] = 0;
  }
  for (const auto& [id, run] : world.runs) {
    ++moment.open[run->status];
    if (run->attempt) moment.under_way.emplace_back(run->attempt->token, id);
  }
  moment.waiting = attention_moment(api, sources, first_waiting());
  return moment;
}

json::object usage_json(const Usage& usage) { return to_json(usage).as_object(); }

void add_goal(const RunIndex& index, const RunId& id, json::object& object) {
  object["run_id"] = to_string(id);
  const auto row = index.find(id);
  if (!row || !*row) return;  // what can't be read isn't shown
  object["goal"] = (*row)->goal;
  if (!(*row)->project.empty()) object["project"] = (*row)->project;
}

json::array failures_json(const RunIndex& index, const std::vector<ReportedFailure>& failures) {
  json::array shown;
  for (const ReportedFailure& each : failures) {
    if (shown.size() == report_entries_shown_max) break;
    json::object failure{{"code", each.code}, {"error_class", to_json(each.error_class)}};
    failure["runs"] = each.runs;
    failure["attempts"] = each.attempts;
    json::object& latest = failure["latest"].emplace_object();
    add_goal(index, each.run_id, latest);
    latest["station"] = each.station;
    latest["position"] = to_json(each.position);
    shown.push_back(std::move(failure));
  }
  return shown;
}

json::array crashes_json(const std::vector<ReportedCrash>& crashes) {
  json::array shown;
  for (const ReportedCrash& each : crashes) {
    if (shown.size() == report_entries_shown_max) break;
    json::object crash{{"position", to_json(each.position)},
                       {"started_at", format_time(each.started_ns)},
                       {"incarnation", each.incarnation},
                       {"down_ms_max", each.down_ms_max},
                       {"in_flight", each.in_flight}};
    json::object& verdicts = crash["verdicts"].emplace_object();
    for (const auto& [verdict, count] : each.verdicts) verdicts[verdict] = count;
    crash["attempts_lost"] = each.attempts_lost;
    crash["lost_ms"] = each.lost_ms;
    shown.push_back(std::move(crash));
  }
  return shown;
}

json::object crash_totals(const std::vector<ReportedCrash>& crashes) {
  std::int64_t down_ms_max = 0;
  std::uint64_t attempts_lost = 0;
  std::int64_t lost_ms = 0;
  for (const ReportedCrash& each : crashes) {
    down_ms_max += each.down_ms_max;
    attempts_lost += each.attempts_lost;
    lost_ms += each.lost_ms;
  }
  return {{"crashes", crashes.size()},
          {"down_ms_max", down_ms_max},
          {"attempts_lost", attempts_lost},
          {"lost_ms", lost_ms}};
}

// `index` is nullptr while the read models can't be asked: the items have fewer details then.
json::object waiting_json(const Api& api, const RunIndex* index, const ReportMoment& moment) {
  return attention_page(api, index, moment.waiting, first_waiting());
}

json::object report_json(const Api& api, const ReportMoment& moment, const ReportPeriod& period,
                         const Report& report) {
  // A run's goal never changes, so rows of a later position have the same.
  const RunIndex& index = api.projector.index();
  json::object result;
  result["since"] = format_time(period.since_ns);
  result["until"] = format_time(moment.now_ns);
  result["from"] = to_json(period.from);
  result["cut"] = period.is_cut;
  if (period.history_from > 0) result["history_from"] = to_json(period.history_from);
  result["runs"] = to_json(report.runs);
  json::object& open = result["open"].emplace_object();
  for (const auto& [status, count] : moment.open) {
    open[boost::describe::enum_to_string(status, "")] = count;
  }
  result["attempts"] = to_json(report.attempts);
  result["cards"] = to_json(report.cards);
  result["ticks"] = to_json(report.ticks);
  json::object usage = usage_json(report.usage);
  usage["failed"] = usage_json(report.usage_of_failed);
  json::array& costliest = usage["costliest"].emplace_array();
  for (const ReportedRunUsage& each : report.costliest) {
    json::object run;
    add_goal(index, each.run_id, run);
    run["used"] = usage_json(each.usage);
    costliest.push_back(std::move(run));
  }
  result["usage"] = std::move(usage);
  result["failures"] = failures_json(index, report.failures);
  result["failures_total"] = report.failures.size();
  result["crashes"] = crashes_json(report.crashes);
  result["crash_totals"] = crash_totals(report.crashes);
  result["clock_jumps"] = report.clock_jumps;
  if (report.over_time) result["over_time"] = to_json(*report.over_time);
  return result;
}

struct ReportRead {
  std::optional<json::object> report;  // nullopt: it took too long
  std::uint64_t records = 0;           // that were read
};

// Reads the newest `records_max` records of the period. Blocks.
Stored<ReportRead> read_period(const Api& api, ReportMoment moment, std::uint64_t records_max) {
  const auto period = TRY(report_period(api.log, moment.position, moment.since, records_max));
  // Records of a clock that ran ahead, and was set right since, are later than now.
  moment.now_ns = std::max(moment.now_ns, period.since_ns);
  ReportMeter meter(period.since_ns, period.lived_ns);
  if (moment.spans > 0) meter.note_over_time(moment.now_ns, moment.spans);
  for (const auto& [token, run_id] : moment.under_way) {
    if (token < period.from) meter.begin_under_way(run_id);
  }
  const std::int64_t due_ns = api.clock.monotonic_ns() + report_read_ms_max * ns_per_ms;
  ReportRead read;
  bool is_late = false;
  TRY(api.log.scan(period.from, moment.position, [&](Record&& record) {
    meter.apply(record);
    const bool looks = ++read.records % records_between_looks == 0;
    is_late = looks && api.clock.monotonic_ns() >= due_ns;
    return !is_late;
  }));
  if (is_late) return read;
  ReportedEnd end{moment.now_ns, 0, moment.under_way.size()};
  for (const auto& [status, count] : moment.open) end.open_runs += count;
  read.report =
      report_json(api, moment, period, std::move(meter).finish(end, costliest_runs_shown));
  return read;
}

Rejection period_too_long() {
  return {
      ErrorCode::OVERLOADED,
      "the log's disk is too slow at present for a report of this period: ask for a shorter one",
      {{"report_hang_ms_max", limits::report_hang_ms_max}},
      {"signalbox report --since 1h", "signalbox status"}};
}

// Makes the report. Blocks.
Decided<json::object> read_report(const Api& api, const ReportMoment& moment) {
  std::uint64_t records_max = limits::report_records_max;
  for (int reads = 0; reads < report_reads_max; ++reads) {
    auto read = read_period(api, moment, records_max);
    if (!read && read.error().kind == StoreError::Kind::dropped) {  // since the horizon was read
      return tl::unexpected(history_dropped(api.log, read.error().position));
    }
    if (!read) {
      return reject(ErrorCode::STORAGE_DAMAGED, read.error().message, {},
                    {"signalbox replay --verify"});
    }
    if (read->report) return std::move(*read->report);
    records_max = read->records / 2;
  }
  return tl::unexpected(period_too_long());
}

Rejection too_many_reports() {
  return {ErrorCode::OVERLOADED,
          "you or all callers wait for many reports, or the log's disk doesn't answer: try again",
          {{"lane_waiting_max", static_cast<std::int64_t>(limits::lane_waiting_max)},
           {"reports_waiting_max", static_cast<std::int64_t>(limits::reports_waiting_max)}},
          {"signalbox status"}};
}

// For whoever still reads; nobody does if the connection was closed.
Rejection report_ended() {
  return {ErrorCode::SHUTTING_DOWN,
          "the report wasn't made: the service stops",
          {},
          {"signalbox status"}};
}

// Reads the period off the engine's thread, and answers with `waiting` in it.
void answer_with_period(Api& api, const Responder& responder, const std::string& caller,
                        const ReportContext& parts,
                        const std::shared_ptr<const ReportMoment>& moment,
                        const json::object& waiting) {
  // Callers take turns: one that asks for many reports holds up its own. Once one takes too long,
  // those that wait behind it are answered as well.
  Lane lane{.name = "reports of " + caller,
            .deadline_ms = limits::report_hang_ms_max,
            .counts_from_begin = true,
            .unwanted = parts->own.askers->add(responder.peer()),
            .has_place = !is_address(caller)};
  lane.failed = [responder](LaneFailure why) {
    responder.reject(why == LaneFailure::unwanted ? report_ended() : too_many_reports());
  };
  const BlockingPool& pool = parts->own.pool ? *parts->own.pool : api.log_readers;
  pool.run(std::move(lane), [&api, responder, moment, waiting]() -> std::function<void()> {
    auto outcome = read_report(api, *moment);
    if (outcome) (*outcome)["waiting"] = waiting;
    return responder.prepare(std::move(outcome), moment->position);
  });
}

// What waits is shown with its rows, of the same position as the rest; without them while the read
// models can't be asked.
void answer_report(Api& api, const Responder& responder, const ReportQuestion& question,
                   const ReportContext& parts, const QueryTurn& turn) {
  const auto moment =
      std::make_shared<const ReportMoment>(report_moment(api, parts->service, question));
  if (refuse_stuck(api, responder, moment->position)) return;
  api.projector.query(
      moment->position,
      [&api, responder, question, parts, moment, turn](const RunIndex& index) {
        if (index.applied() != moment->position) {  // the rows were computed anew meanwhile
          return api.post([&api, responder, question, parts, turn] {
            answer_report(api, responder, question, parts, turn);
          });
        }
        api.post([&api, responder, question, parts, moment,
                  waiting = waiting_json(api, &index, *moment)] {
          answer_with_period(api, responder, question.caller, parts, moment, waiting);
        });
      },
      [&api, responder, question, parts, moment](const StoreError&) {
        api.post([&api, responder, question, parts, moment,
                  waiting = waiting_json(api, nullptr, *moment)] {
          // The rows don't say that everything up to the moment is in the log.
          api.engine.release_when_durable(
              [&api, responder, question, parts, moment, waiting](Durability) {
                answer_with_period(api, responder, question.caller, parts, moment, waiting);
              });
        });
      });
}

void get_report(Api& api, Call& call, const ReportContext& parts) {
  const auto params = from_json<GetReport>(call.params);
  if (!params) return call.responder.reject(params.error());
  const Position tail = api.engine.world().position;
  const auto since = read_report_since(params->since.value_or("8h"), api.clock.wall_ns(), tail);
  if (!since) return call.responder.reject(since.error());
  if (params->spans) {
    const auto ok = require_between("spans", *params->spans, 1, report_spans_max);
    if (!ok) return call.responder.reject(ok.error());
  }
  const ReportQuestion question{call.origin.actor, *since, params->spans.value_or(0)};
  take_turn(api, call.responder,
            [&api, responder = call.responder, question, parts](const QueryTurn& turn) {
              answer_report(api, responder, question, parts, turn);
            });
}

}  // namespace

std::vector<Method> report_methods(ServiceSources sources, const ReportParts& own) {
  const auto parts = std::make_shared<const ReportSources>(ReportSources{std::move(sources), own});
  return {{"report.get", false, Role::viewer, params_of<GetReport>(),
           [parts](Api& api, Call& call) { get_report(api, call, parts); }}};
}

}  // namespace signalbox
