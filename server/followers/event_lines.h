// Writes the events that an operator looks for as lines of the server's own log (spdlog).
//
// debug: every attempt that starts and ends, every run that starts and succeeds. info: attempts
// that failed and are retried, pauses, cancellations, stations that wait for a person. warn: runs
// that failed, stalls, expired leases, processes that outlived a cancellation.
//
// At info and above at most `lines_per_second_max` lines are written each second, followed by the
// number of omitted ones. Nothing is lost by that: the event log has every event.
#pragma once

#include <cstdint>

#include <spdlog/logger.h>

#include "domain/event.h"
#include "server/platform/clock.h"

namespace signalbox {

class EventLines {
 public:
  static constexpr std::uint32_t lines_per_second_max = 100;

  EventLines(spdlog::logger& logger, const Clock& clock) : logger_(logger), clock_(clock) {}

  // Writes the line of `record`, if it has one. To be called once the record is durable, on the
  // engine thread.
  void write(const Record& record);

 private:
  bool has_room();

  spdlog::logger& logger_;
  const Clock& clock_;
  std::int64_t second_ = 0;    // of the monotonic clock
  std::uint32_t lines_ = 0;    // written in second_
  std::uint64_t omitted_ = 0;  // lines, since the last warning about them
};

}  // namespace signalbox
