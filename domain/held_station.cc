#include "domain/held_station.h"

#include "domain/refusals.h"
#include "domain/station_turn.h"
#include "domain/try.h"

namespace signalbox {
namespace {

// Returns the next command for a sender without an attempt, while there is none: the claim, unless
// the station waits for a person or the service executes it.
std::vector<std::string> without_attempt_command(const Run& run) {
  const StationState& station = run.station();
  const bool for_person =
      station.status == StationStatus::waiting && waits_for_person(station.waiting);
  if (for_person || run.definition().executor != ExecutorKind::worker) {
    return {"signalbox run why " + to_string(run.id)};
  }
  return {"signalbox station claim --worker me --run " + to_string(run.id) + " --station " +
          shell_word(run.definition().name)};
}

// Returns whether the station's result is held for a decision.
bool holds_result(const Run& run) {
  return run.station().status == StationStatus::waiting &&
         run.station().waiting == WaitReason::approval &&
         run.definition().executor != ExecutorKind::approval;
}

}  // namespace

std::vector<Detail> station_details(const Run& run, const std::string& station) {
  return {{"run_id", to_string(run.id)},
          {"station", station},
          {"current_station", run.definition().name},
          {"current_status", std::string(name_of(run.station().status))}};
}

std::vector<std::string> run_get_command(const Run& run) {
  return {"signalbox run get " + to_string(run.id)};
}

Decided<const Run*> current_station(const World& world, const RunId& id,
                                    const std::string& station) {
  const auto found = open_run(world, id);
  if (!found) return found;
  const Run& run = **found;
  const auto index = run.find_station(station);
  if (!index) {
    std::vector<std::string> names;
    for (const StationDefinition& each : run.pipeline->stations) names.push_back(each.name);
    return reject(ErrorCode::STATION_NOT_FOUND, "the run's pipeline has no station " + station,
                  {{"run_id", to_string(id)}, {"station", station}, {"stations", names}},
                  run_get_command(run));
  }
  if (*index < run.current) {
    return reject(ErrorCode::STATION_ALREADY_SUCCEEDED,
                  "station " + station + " has succeeded already; it isn't repeated",
                  station_details(run, station), run_get_command(run));
  }
  if (*index > run.current) {
    return reject(ErrorCode::STATION_ORDER,
                  "station " + station + " has to wait for " + run.definition().name,
                  station_details(run, station), run_get_command(run));
  }
  return &run;
}

Decided<const Run*> held_station(const World& world, const RunId& id, const std::string& station,
                                 Token token, const Sender& by) {
  const auto found = current_station(world, id, station);
  if (!found) return found;
  const Run& run = **found;
  if (!run.attempt) {
    if (run.station().attempts > 0) {
      return reject(ErrorCode::STALE_TOKEN,
                    holds_result(run)
                        ? "the station's attempt has succeeded; its result waits for a decision"
                        : "the attempt with this token has ended; no worker holds the station now",
                    {{"run_id", to_string(id)},
                     {"station", station},
                     {"token", static_cast<std::int64_t>(token)}},
                    without_attempt_command(run));
    }
    return reject(ErrorCode::STATION_NOT_CLAIMED, "no worker holds station " + station,
                  station_details(run, station), without_attempt_command(run));
  }
  if (run.attempt->token != token) {
    return reject(ErrorCode::STALE_TOKEN, "this token is not that of the attempt in progress",
                  {{"run_id", to_string(id)},
                   {"station", station},
                   {"token", static_cast<std::int64_t>(token)},
                   {"current_token", static_cast<std::int64_t>(run.attempt->token)},
                   {"current_worker", run.attempt->worker}},
                  {"signalbox events --from " + std::to_string(run.attempt->token) + " --limit 1"});
  }
  TRY(require_holder(world, token, by));
  return &run;
}

Decided<void> require_may_report(const Run& run, bool from_executor) {
  if (from_executor || run.definition().executor == ExecutorKind::worker) return {};
  return reject(ErrorCode::STATION_NOT_CLAIMABLE,
                "station " + run.definition().name +
                    " is executed by the service, which takes the result from its job",
                station_details(run, run.definition().name), run_get_command(run));
}

}  // namespace signalbox
