// What commands of a random history need of its records.
#pragma once

#include <span>
#include <vector>

#include "domain/command.h"
#include "domain/event.h"

namespace signalbox {

inline std::vector<Record> records_of(std::span<const Record> records, const RunId& run_id) {
  std::vector<Record> of_run;
  for (const Record& record : records) {
    if (record.stream == Stream::run(run_id)) of_run.push_back(record);
  }
  return of_run;
}

// Returns the position of the latest RunFailed, or 0.
inline Position failed_at_in(std::span<const Record> of_run) {
  Position failed_at = 0;
  for (const Record& record : of_run) {
    if (event_as<RunFailed>(record.event) != nullptr) failed_at = record.position;
  }
  return failed_at;
}

// Returns the word that the run's latest attempt has used `usage`; without one, that nothing was.
inline NoteLateUsage late_usage_of(std::span<const Record> of_run, const Usage& usage) {
  NoteLateUsage command;
  for (const Record& record : of_run) {
    command.run_id = record.stream.run_id;
    const auto* claimed = event_as<StationClaimed>(record.event);
    if (claimed == nullptr) continue;
    command.station = claimed->station;
    command.attempt = claimed->attempt;
    command.token = record.position;
    command.span_id = record.span_id;
    command.usage = usage;
  }
  return command;
}

}  // namespace signalbox
