#include "server/engine/moment.h"

#include <string>
#include <utility>

#include "domain/limits.h"
#include "domain/nanoseconds.h"
#include "domain/try.h"
#include "server/engine/dropped_history.h"
#include "server/text/separated_text.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

Rejection no_such_position(const EventLog& log, std::string_view moment) {
  return {ErrorCode::POSITION_NOT_FOUND,
          "the log has nothing at " + std::string(moment) + "; it ends at " +
              std::to_string(log.tail()),
          {{"tail", static_cast<std::int64_t>(log.tail())}},
          {"signalbox events --backwards --limit 1"}};
}

// For a moment before the first record, of a log that has one.
Rejection before_log(const EventLog& log, std::string_view moment) {
  Rejection rejection = no_such_position(log, moment);
  rejection.message = std::string(moment) + " is before the log, which begins with position 1";
  rejection.next_commands = {"signalbox events --limit 1"};
  return rejection;
}

Rejection unreadable_log(const EventLog& log, const StoreError& error) {
  // A retention may have dropped it since the horizon was read.
  if (error.kind == StoreError::Kind::dropped) return history_dropped(log, error.position);
  return {ErrorCode::STORAGE_DAMAGED, error.message, {}, {"signalbox replay --verify"}};
}

// Checks that the time has come. Events may be later than the clock, if that was put back.
Decided<void> require_come(const EventLog& log, std::string_view moment, std::int64_t utc_ns,
                           std::int64_t now_ns) {
  if (utc_ns <= now_ns + limits::clock_difference_ms_max * ns_per_ms) return {};
  if (log.tail() > 0) {
    const auto end_ns = recorded_at(log, log.tail());
    if (!end_ns) return tl::unexpected(unreadable_log(log, end_ns.error()));
    if (utc_ns <= *end_ns) return {};
  }
  Rejection rejection = no_such_position(log, moment);
  rejection.message = std::string(moment) + " is in the future: it is " + format_time(now_ns) +
                      "; name no moment for the present, or an age like 90m";
  rejection.details.push_back({"now", format_time(now_ns)});
  return tl::unexpected(std::move(rejection));
}

}  // namespace

std::optional<std::int64_t> parse_time_or_age(std::string_view text, std::int64_t now_ns) {
  if (const auto utc_ns = parse_time(text)) return utc_ns;
  const auto age_ms = parse_duration_ms(text);
  std::int64_t utc_ns = 0;
  if (!age_ms || __builtin_mul_overflow(*age_ms, ns_per_ms, &utc_ns) ||
      __builtin_sub_overflow(now_ns, utc_ns, &utc_ns)) {
    return std::nullopt;
  }
  return utc_ns;
}

Decided<Position> find_moment(const EventLog& log, std::string_view moment, std::int64_t now_ns) {
  if (const auto position = whole_number<Position>(moment)) {
    if (*position > log.tail()) return tl::unexpected(no_such_position(log, moment));
    if (*position != 0 && *position < log.horizon().position) {
      return tl::unexpected(history_dropped(log, *position));
    }
    return *position;
  }
  const auto utc_ns = parse_time_or_age(moment, now_ns);
  if (!utc_ns) {
    return reject(ErrorCode::INVALID_PARAMS,
                  (moment.empty() ? "an empty text" : std::string(moment)) +
                      " is not a position, a time like 2026-11-20T03:00:00Z or an age like 90m",
                  {{"value", std::string(moment)}});
  }
  TRY(require_come(log, moment, *utc_ns, now_ns));
  const auto found = position_at(log, *utc_ns);
  if (!found) return tl::unexpected(unreadable_log(log, found.error()));
  if (*found != 0 && *found == log.horizon().position) {
    // The moment may lie before the horizon's record, and the state at that time isn't known.
    return tl::unexpected(history_dropped(log, *found));
  }
  return *found;
}

Decided<Position> find_shown_moment(const EventLog& log, std::string_view moment,
                                    std::int64_t now_ns) {
  const auto found = TRY(find_moment(log, moment, now_ns));
  if (found == 0 && parse_duration_ms(moment) && log.tail() > 0) return Position{1};
  if (found == 0) {
    return tl::unexpected(log.tail() > 0 ? before_log(log, moment) : no_such_position(log, moment));
  }
  if (found <= log.horizon().position) return tl::unexpected(history_dropped(log, found));
  return found;
}

}  // namespace signalbox
