// What of the events an operator looks for in the morning, as lines of the server's own log.
//
// At level debug: every attempt that starts and ends, every run that starts and succeeds. At info:
// attempts that failed and are tried again, pauses, cancellations, what waits for somebody. At
// warn: runs that failed, stalls, leases that ran out, work that escaped. Of info and above at most
// `lines_per_second_max` lines are written, and how many were left out: the log itself has them
// all.
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

  // After the record is durable. One thread.
  void apply(const Record& record);

 private:
  bool has_room();

  spdlog::logger& logger_;
  const Clock& clock_;
  std::int64_t second_ = 0;
  std::uint32_t lines_ = 0;  // in this second
  std::uint64_t left_out_ = 0;
};

}  // namespace signalbox
