// The row of a run, open or ended, as lists show it. Computed by applying the run's events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <boost/describe/class.hpp>

#include "domain/event.h"
#include "domain/run.h"
#include "store/store_error.h"

namespace signalbox {

struct RunRow {
  // Longer goals are truncated at a character boundary.
  static constexpr std::size_t goal_bytes_max = 256;

  RunId run_id{};
  RunStatus status = RunStatus::queued;
  std::string goal;
  std::string project;
  std::map<std::string, std::string> labels;
  std::string idempotency_key;
  Digest request_digest;
  Digest pipeline_digest;
  std::string pipeline;  // name of the pipeline

  // The current station (next or in progress), or the one that the run ended with.
  std::string station;
  StationStatus station_status = StationStatus::pending;
  std::uint32_t station_index = 0;
  std::uint32_t stations = 0;              // number of stations
  std::uint32_t attempts = 0;              // number of attempts of the current station
  std::string worker;                      // worker of its latest attempt
  Strategy strategy = Strategy::original;  // strategy of its latest attempt
  // UTC; 0: no set time.
  std::int64_t waiting_until_ns = 0;
  std::optional<WaitReason> waiting;  // reason while the station waits; else nullopt
  // Error class of the latest failed attempt of this station, regardless of how the run continued.
  std::optional<ErrorClass> error_class;

  std::string error_code;     // of a failed run, or of the latest failed attempt of this station
  std::string error_message;  // for a person; for a canceled run, the reason
  bool cancel_requested = false;
  std::string paused_reason;  // empty unless it is paused

  std::int64_t started_at_ns = 0;  // UTC
  std::int64_t updated_at_ns = 0;  // of its latest event that isn't a heartbeat; UTC
  std::int64_t ended_at_ns = 0;    // UTC; 0: open
  Position started_position = 0;
  Position last_position = 0;  // of its latest event that isn't a heartbeat
  Position ended_position = 0;

  friend bool operator==(const RunRow&, const RunRow&) = default;
};
BOOST_DESCRIBE_STRUCT(RunRow, (),
                      (run_id, status, goal, project, labels, idempotency_key, request_digest,
                       pipeline_digest, pipeline, station, station_status, station_index, stations,
                       attempts, worker, strategy, waiting_until_ns, waiting, error_class,
                       error_code, error_message, cancel_requested, paused_reason, started_at_ns,
                       updated_at_ns, ended_at_ns, started_position, last_position, ended_position))

// Returns the row of a run that has just started.
RunRow row_of(const Record& record, const RunStarted& event, const PipelineDefinition& pipeline);

// Applies a later event of the run to its row. After StationSucceeded `station` is empty until the
// next claim names it. Fails with `damaged` if that event can't follow the row.
Stored<void> apply(RunRow& row, const Record& record);

}  // namespace signalbox
