#include "server/scheduler/clock_advance.h"

#include "domain/event.h"
#include "domain/nanoseconds.h"
#include "domain/server_events.h"
#include "domain/try.h"
#include "server/engine/clock_watch.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

// Returns whether the service was there when the record at `from` was written at `at_ns`, and its
// clock right: nothing says that it began, or that the clock jumped. A jump is found at the next
// check, so other records may come before that.
Stored<bool> was_watched(const EventLog& log, Position from, std::int64_t at_ns) {
  const std::int64_t until_ns = at_ns + ClockWatch::interval_ns + ClockWatch::tolerance_ns;
  bool found = false;
  TRY(log.scan(from, log.tail(), [&](Record&& record) {
    found = event_as<ServerStarted>(record.event) != nullptr ||
            event_as<ClockJumped>(record.event) != nullptr;
    return !found && record.recorded_at_ns <= until_ns;
  }));
  return !found;
}

}  // namespace

// The first record of the last day follows such an advance, if there was one in that day: what was
// recorded before it is older than a day by then.
Stored<std::optional<std::string>> describe_clock_advance(const EventLog& log,
                                                          std::int64_t now_ns) {
  constexpr std::int64_t day_ns = 24 * 60 * ns_per_minute;
  constexpr std::int64_t grace_ns = limits::clock_advance_grace_ms * ns_per_ms;
  const Position before = TRY(position_at(log, now_ns - grace_ns));
  if (before == log.horizon().position || before == log.tail()) return std::nullopt;
  const auto records = TRY(log.read(before, 2));
  const std::int64_t at_ns = records.back().recorded_at_ns;
  const std::int64_t advance_ns = at_ns - records.front().recorded_at_ns;
  // A record of a time to come was written by a clock that has been set back since.
  if (at_ns > now_ns || advance_ns <= limits::clock_advance_ms_max * ns_per_ms) {
    return std::nullopt;
  }
  const bool is_known = TRY(was_watched(log, before + 1, at_ns));
  if (is_known) return std::nullopt;
  return "the clock went ahead by " + std::to_string(advance_ns / day_ns) + " days at " +
         format_time(at_ns) + ", or the service was away for so long: set the clock if it is " +
         "wrong; nothing is removed before " + format_time(at_ns + grace_ns);
}

}  // namespace signalbox
