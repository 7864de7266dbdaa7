// One line about a run, open or ended: what a list shows. Folded from the run's events.
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
  static constexpr std::size_t goal_bytes_max = 256;  // a longer goal is cut, between characters

  RunId run_id{};
  RunStatus status = RunStatus::queued;
  std::string goal;
  std::string project;
  std::map<std::string, std::string> labels;
  std::string idempotency_key;
  Digest request_digest;
  Digest pipeline_digest;
  std::string pipeline;  // its name

  // The station that is next or under way, or that the run ended with.
  std::string station;
  StationStatus station_status = StationStatus::pending;
  std::uint32_t station_index = 0;
  std::uint32_t stations = 0;              // how many there are
  std::uint32_t attempts = 0;              // of that station
  std::string worker;                      // of its latest attempt
  Strategy strategy = Strategy::original;  // likewise
  std::int64_t waiting_until_ns = 0;
  std::optional<WaitReason> waiting;  // why it waits, while it does
  // Of the latest failed attempt of this station, however the run went on from there.
  std::optional<ErrorClass> error_class;

  std::string error_code;     // of a failed run, or the latest failed attempt of this station
  std::string error_message;  // likewise; of a canceled run the reason
  bool cancel_requested = false;
  std::string paused_reason;  // while it is paused

  std::int64_t started_at_ns = 0;  // UTC
  std::int64_t updated_at_ns = 0;  // heartbeats don't count
  std::int64_t ended_at_ns = 0;    // 0: open
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

// The row of a run that has just started.
RunRow row_of(const Record& record, const RunStarted& event, const PipelineDefinition& pipeline);

// What a later event of the run makes of its row. After StationSucceeded `station` is empty until
// the next claim names it. `damaged` if the row isn't one that such an event can follow.
Stored<void> apply(RunRow& row, const Record& record);

}  // namespace signalbox
