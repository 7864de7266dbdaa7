// The state of an open run, and its transition table.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include "domain/boxed.h"
#include "domain/event.h"
#include "domain/plan.h"
#include "domain/station.h"
#include "domain/transition.h"

namespace signalbox {

enum class RunStatus : std::uint8_t {
  queued = 1,
  running = 2,
  succeeded = 3,
  failed = 4,
  canceled = 5,
  paused = 6
};
BOOST_DESCRIBE_ENUM(RunStatus, queued, running, succeeded, failed, canceled, paused)

using RunTransition = Transition<RunStatus>;

// The transition table, drawn in README.md. evolve() aborts on a pair of a run event and a status
// that isn't in it.
inline constexpr std::array run_transitions = {
    RunTransition{RunStatus::queued, StationClaimed::tag, RunStatus::running},
    RunTransition{RunStatus::queued, RunCanceled::tag, RunStatus::canceled},
    RunTransition{RunStatus::running, StationClaimed::tag, RunStatus::running},
    RunTransition{RunStatus::running, RunSucceeded::tag, RunStatus::succeeded},
    RunTransition{RunStatus::running, RunFailed::tag, RunStatus::failed},
    RunTransition{RunStatus::running, RunCancelRequested::tag, RunStatus::running},
    RunTransition{RunStatus::running, RunCanceled::tag, RunStatus::canceled},
    RunTransition{RunStatus::queued, RunPaused::tag, RunStatus::paused},
    RunTransition{RunStatus::running, RunPaused::tag, RunStatus::paused},
    RunTransition{RunStatus::paused, RunResumed::tag, RunStatus::running},
    RunTransition{RunStatus::paused, RunSucceeded::tag, RunStatus::succeeded},
    RunTransition{RunStatus::paused, RunFailed::tag, RunStatus::failed},
    RunTransition{RunStatus::paused, RunCancelRequested::tag, RunStatus::paused},
    RunTransition{RunStatus::paused, RunCanceled::tag, RunStatus::canceled},
    // A run whose first station waits for an approval was never claimed.
    RunTransition{RunStatus::queued, StationApproved::tag, RunStatus::running},
    RunTransition{RunStatus::queued, StationRejected::tag, RunStatus::running},
    RunTransition{RunStatus::running, RunBudgetRaised::tag, RunStatus::running},
    RunTransition{RunStatus::paused, RunBudgetRaised::tag, RunStatus::paused},
    RunTransition{RunStatus::queued, RunBudgetRaised::tag, RunStatus::queued},
    // The only transition out of a terminal status.
    RunTransition{RunStatus::failed, RunRetried::tag, RunStatus::running},
    // An attempt of it ended before; a run that is queued has had none.
    RunTransition{RunStatus::running, LateUsageReported::tag, RunStatus::running},
    RunTransition{RunStatus::paused, LateUsageReported::tag, RunStatus::paused},
    RunTransition{RunStatus::succeeded, LateUsageReported::tag, RunStatus::succeeded},
    RunTransition{RunStatus::failed, LateUsageReported::tag, RunStatus::failed},
    RunTransition{RunStatus::canceled, LateUsageReported::tag, RunStatus::canceled},
};

// Returns the status after the event of this number, or nullopt if the table has no such pair.
constexpr std::optional<RunStatus> next_status(RunStatus from, std::uint16_t event_number) {
  return next_in(run_transitions, from, event_number);
}

constexpr bool is_terminal(RunStatus status) {
  switch (status) {
    case RunStatus::queued:
    case RunStatus::running:
    case RunStatus::paused:
      return false;
    case RunStatus::succeeded:
    case RunStatus::failed:
    case RunStatus::canceled:
      return true;
  }
  return false;
}

// Returns whether its run ends with this event.
inline bool ends_run(const Event& event) {
  return event_as<RunSucceeded>(event) != nullptr || event_as<RunFailed>(event) != nullptr ||
         event_as<RunCanceled>(event) != nullptr;
}

// The state of an open run that decisions need. Everything else about the run is in its events.
struct Run {
  RunId id{};
  RunStatus status = RunStatus::queued;
  bool cancel_requested = false;
  std::uint32_t current = 0;  // index of the station that is next or under way
  Position started_at = 0;    // position of its RunStarted
  std::string goal;
  std::string input;
  std::string run_root;
  std::string repository;
  std::string base;
  std::string idempotency_key;
  Digest request_digest;
  Digest pipeline_digest;
  std::string cancel_reason;
  Budget budget;
  Usage used;
  std::optional<std::uint32_t> max_retries;  // overrides that of its stations
  // External ref of the latest attempt of the current station if that ended without a result: the
  // executor may resume there.
  std::string resume_ref;
  std::string previous;  // how the latest attempt of the current station ended, for the next one
  std::vector<StationState> stations;
  Boxed<Attempt> attempt;  // of the current station, while it runs
  Boxed<Plan> plan;        // of the current station from its first claim on, if it is deep work

  Position changed_at = 0;  // position of its latest event

  // Position of the event that asked what its station waits to have decided: the identity of that
  // question. 0: it waits for no decision, or an older version's base doesn't say.
  Position asked_at = 0;

  // The machine that its latest job was given to, as in StationSubmitIntended: its workspace is
  // there, so its further jobs are given to it, too (placement.h). Empty: it has had none.
  std::string machine;

  // Its records since the state was loaded, without heartbeats of attempts, which nobody reads with
  // the run; a plan counts as many, for its length. Not a field of the state: it decides only what
  // is refused.
  std::uint32_t records = 0;
  static constexpr std::uint32_t records_of_plan = 64;

  // Shared by all runs of the pipeline. Not a field of the state: pipeline_digest identifies it.
  std::shared_ptr<const PipelineDefinition> pipeline;

  [[nodiscard]] const StationDefinition& definition() const { return pipeline->stations[current]; }
  [[nodiscard]] const StationState& station() const { return stations[current]; }
  [[nodiscard]] StationState& station() { return stations[current]; }
  // Returns the index of the station with this name, or nullopt.
  [[nodiscard]] std::optional<std::uint32_t> find_station(std::string_view name) const;
};

// Notes that a record at `position` has changed the run; it counts as so many records.
inline void note_record(Run& run, Position position, std::uint32_t records = 1) {
  run.changed_at = position;
  run.records += records;
}

// Without `asked_at` and `machine`, which the encoding of a world has apart from the others
// (world_codec.cc).
BOOST_DESCRIBE_STRUCT(Run, (),
                      (id, status, cancel_requested, current, started_at, goal, input, run_root,
                       repository, base, idempotency_key, request_digest, pipeline_digest,
                       cancel_reason, budget, used, max_retries, resume_ref, previous, stations,
                       attempt, plan, changed_at))

}  // namespace signalbox
