#include "server/rpc/methods/watchdog_check.h"

#include "domain/refusals.h"
#include "projections/run_history.h"
#include "server/engine/engine.h"
#include "server/engine/timers.h"
#include "server/platform/clock.h"
#include "server/rpc/command_call.h"
#include "server/rpc/methods/tick_results.h"
#include "server/rpc/read_models.h"
#include "server/text/time_text.h"
#include "store/event_log.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// Returns seconds: an integer if they are whole, and else a double.
json::value seconds(std::int64_t ms) {
  if (ms % 1000 == 0) return ms / 1000;
  return static_cast<double>(ms) / 1000;
}

const char* field_of(TimerOrigin origin) {
  switch (origin) {
    case TimerOrigin::started_at:
      return "stage.started_at";
    case TimerOrigin::last_progress_at:
      return "stage.last_progress_at";
  }
  return "?";
}

json::object timed_out_view(const Api& api, const RunId& run_id, const WatchdogTimedOut& event) {
  const std::string logs = run_root_of(api, event.run_root, run_id) + "/logs/";
  json::object result;
  result["run_id"] = to_string(run_id);
  result["timed_out"] = true;
  result["stage"] = event.station;
  result["attempt"] = event.attempt;
  result["elapsed_s"] = seconds(event.elapsed_ms);
  result["timeout_s"] = seconds(event.timeout_ms);
  result["timer_origin_field"] = field_of(event.timer_origin_field);
  result["timer_origin"] = format_time(event.timer_origin_ns);
  result["paused"] = false;
  result["worker"] = event.worker;
  result["checkpoint_path"] = logs + "timeout-checkpoint.md";
  result["checkpoint_json_path"] = logs + "timeout-checkpoint.json";
  return result;
}

json::object timed_out_result(const Api& api, std::span<const Record> records) {
  for (const Record& record : records) {
    if (const auto* event = event_as<WatchdogTimedOut>(record.event)) {
      return timed_out_view(api, record.stream.run_id, *event);
    }
  }
  return {};
}

// Returns how long the attempt under way has run. For a job of the service its shim measures the
// time, in the same way.
std::int64_t elapsed_ms(const Api& api, const Run& run) {
  if (const auto elapsed = api.timers.elapsed_ms(run, api.clock.monotonic_ns())) return *elapsed;
  const Attempt& attempt = *run.attempt;
  const bool progressed = attempt.timer_origin() != attempt.token && attempt.lease_ms > 0;
  const std::int64_t origin_ns = progressed ? attempt.last_progress_at_ns : attempt.started_at_ns;
  return std::max<std::int64_t>((api.clock.wall_ns() - origin_ns) / 1'000'000, 0);
}

json::object in_time_view(const Api& api, const Run& run) {
  json::object result;
  result["run_id"] = to_string(run.id);
  result["timed_out"] = false;
  result["stage"] = run.definition().name;
  result["station_status"] = name_of(run.station().status);
  result["timeout_s"] = seconds(run.definition().timeout_ms);
  result["paused"] = run.status == RunStatus::paused;
  if (!run.attempt) {
    result["elapsed_s"] = nullptr;
    result["timer_origin_field"] = nullptr;
    result["timer_origin"] = nullptr;
    return result;
  }
  const Attempt& attempt = *run.attempt;
  // The shim measures from the start, whatever progress its job reports.
  const bool progressed = attempt.timer_origin() != attempt.token && attempt.lease_ms > 0;
  result["attempt"] = attempt.number;
  result["elapsed_s"] = seconds(elapsed_ms(api, run));
  result["timer_origin_field"] =
      field_of(progressed ? TimerOrigin::last_progress_at : TimerOrigin::started_at);
  result["timer_origin"] =
      format_time(progressed ? attempt.last_progress_at_ns : attempt.started_at_ns);
  result["worker"] = attempt.worker;
  return result;
}

// Returns the timeout of the latest attempt at the run's current station; nullptr if that attempt
// didn't end by one.
const WatchdogTimedOut* latest_timeout(const RunTimeline& timeline) {
  const TimelineAttempt* latest = nullptr;
  for (const TimelineStation& station : timeline.stations) {
    for (const TimelineAttempt& attempt : station.attempts) {
      if (latest == nullptr || attempt.token > latest->token) latest = &attempt;
    }
    if (!is_terminal(station.status)) break;
  }
  if (latest == nullptr || !latest->timed_out) return nullptr;
  return latest->outcome == Outcome::timeout ? &*latest->timed_out : nullptr;
}

// Answers for a run without an attempt under way, from the log and off the engine's thread. Answers
// with `otherwise` if its latest attempt didn't end by a timeout.
void answer_from_history(Api& api, Call& call, const RunId& run_id,
                         Decided<json::object> otherwise) {
  query_read_models(
      api, call.responder, api.engine.world().position,
      [&api, responder = call.responder, run_id, rollbacks = api.engine.rollbacks(),
       otherwise = std::move(otherwise)](const RunIndex& index) -> std::function<void()> {
        Decided<json::object> outcome = otherwise;
        const auto timeline = read_timeline(api.log, index, run_id);
        if (!timeline) {
          outcome = unreadable(timeline.error());
        } else if (*timeline) {
          if (const WatchdogTimedOut* event = latest_timeout(**timeline)) {
            outcome = timed_out_view(api, run_id, *event);
          }
        }
        return [&api, responder, rollbacks, outcome = std::move(outcome)]() mutable {
          if (api.engine.rollbacks() != rollbacks) {  // `otherwise` reports them
            return responder.reject(api.engine.storage_full_refusal());
          }
          answer_with_files(api, responder, std::move(outcome));
        };
      });
}

}  // namespace

void check_watchdog(Api& api, Call& call) {
  const auto params = from_json<CheckWatchdog>(call.params);
  if (!params) return call.responder.reject(params.error());
  if (answered_before(api, call, timed_out_result)) return;
  const auto found = open_run(api.engine.world(), params->run_id);
  if (!found) {
    return answer_from_history(api, call, params->run_id,
                               tl::unexpected(with_ended_run(api, found.error())));
  }
  const Run& run = **found;
  if (!run.attempt) return answer_from_history(api, call, run.id, in_time_view(api, run));
  const Attempt& attempt = *run.attempt;
  const auto elapsed = api.timers.elapsed_ms(run, api.clock.monotonic_ns());
  const bool over = elapsed && *elapsed >= run.definition().timeout_ms;
  Decided<json::object> outcome = in_time_view(api, run);
  if (over) {
    const TimeOutStation time_out{run.id, attempt.token, attempt.timer_origin(), *elapsed};
    outcome = outcome_of(api, call.origin, time_out, timed_out_result,
                         [&] { return std::move(*outcome); });
  }
  answer_with_files(api, call.responder, std::move(outcome));
}

}  // namespace signalbox
