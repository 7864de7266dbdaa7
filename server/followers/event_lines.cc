#include "server/followers/event_lines.h"

#include <optional>
#include <string>
#include <utility>

#include <boost/describe/enum_to_string.hpp>

#include "domain/nanoseconds.h"
#include "domain/text_parts.h"
#include "server/access/access_settings.h"
#include "server/platform/logging.h"

namespace signalbox {
namespace {

using spdlog::level::level_enum;

struct EventLine {
  level_enum level = level_enum::debug;
  std::string text;
  std::string_view station = {};
};

template <class Enum>
std::string shown_enum(Enum value) {
  return boost::describe::enum_to_string(value, "unknown");
}

std::string attempt_text(std::uint32_t number, const std::string& outcome) {
  return "attempt " + std::to_string(number) + " " + outcome;
}
std::string shown_failure(const Failure& failure) {
  return shown_enum(failure.outcome) + ": " + failure.code +
         (failure.message.empty() ? "" : ": " + failure.message);
}

// Returns whether the project's policy file was removed: it is held (PolicyHold::gone).
bool is_file_gone(const PolicyAdopted& event) {
  return event.digest.is_zero() && !event.policy.process_backlog;
}

// Returns the level of an event's line, or nullopt for an event without one. It is separate from
// the text, which is made only if the level is written.
struct LevelOf {
  std::optional<level_enum> operator()(const RunStarted&) const { return level_enum::debug; }
  std::optional<level_enum> operator()(const RunSucceeded&) const { return level_enum::debug; }
  std::optional<level_enum> operator()(const RunFailed&) const { return level_enum::warn; }
  std::optional<level_enum> operator()(const RunCancelRequested&) const { return level_enum::info; }
  std::optional<level_enum> operator()(const RunCanceled&) const { return level_enum::info; }
  std::optional<level_enum> operator()(const RunPaused&) const { return level_enum::info; }
  std::optional<level_enum> operator()(const RunResumed&) const { return level_enum::info; }
  std::optional<level_enum> operator()(const RunRetried&) const { return level_enum::info; }
  std::optional<level_enum> operator()(const LateUsageReported&) const { return level_enum::info; }
  std::optional<level_enum> operator()(const StationClaimed&) const { return level_enum::debug; }
  std::optional<level_enum> operator()(const StationSucceeded&) const { return level_enum::debug; }
  std::optional<level_enum> operator()(const StationAttemptFailed& event) const {
    return event.failure.error_class == ErrorClass::lost ? level_enum::warn : level_enum::info;
  }
  std::optional<level_enum> operator()(const StationDeferred&) const { return level_enum::info; }
  std::optional<level_enum> operator()(const StationHeld&) const { return level_enum::info; }
  std::optional<level_enum> operator()(const StationApprovalRequested&) const {
    return level_enum::info;
  }
  std::optional<level_enum> operator()(const StationApprovalGiven&) const {
    return level_enum::info;
  }
  std::optional<level_enum> operator()(const StationResultHeld&) const { return level_enum::info; }
  std::optional<level_enum> operator()(const StationStalled&) const { return level_enum::warn; }
  std::optional<level_enum> operator()(const WatchdogTimedOut&) const { return level_enum::warn; }
  std::optional<level_enum> operator()(const CancelEscaped&) const { return level_enum::warn; }
  std::optional<level_enum> operator()(const LockExpired&) const { return level_enum::warn; }
  std::optional<level_enum> operator()(const TickIncompleteDetected&) const {
    return level_enum::warn;
  }
  std::optional<level_enum> operator()(const TickFailed&) const { return level_enum::warn; }
  std::optional<level_enum> operator()(const PolicyRefused&) const { return level_enum::warn; }
  std::optional<level_enum> operator()(const PolicyAdopted& event) const {
    return is_file_gone(event) ? level_enum::warn : level_enum::info;
  }
  std::optional<level_enum> operator()(const CardBlocked&) const { return level_enum::info; }
  std::optional<level_enum> operator()(const CardFailed&) const { return level_enum::warn; }
  std::optional<level_enum> operator()(const AccessDenied&) const { return level_enum::warn; }
  std::optional<level_enum> operator()(const ServicePaused&) const { return level_enum::warn; }
  std::optional<level_enum> operator()(const ServiceResumed&) const { return level_enum::warn; }
  std::optional<level_enum> operator()(const RunnerDrained&) const { return level_enum::info; }
  std::optional<level_enum> operator()(const RunnerUndrained&) const { return level_enum::info; }
  std::optional<level_enum> operator()(const RunnerEvicted&) const { return level_enum::warn; }
  std::optional<level_enum> operator()(const RunnerReadmitted&) const { return level_enum::warn; }
  template <class Other>
  std::optional<level_enum> operator()(const Other&) const {
    return std::nullopt;
  }
};

struct TextOf {
  const Record& record;

  EventLine operator()(const RunStarted& event) const {
    return {{}, "run started" + (event.project.empty() ? "" : " for " + event.project), {}};
  }
  EventLine operator()(const RunSucceeded&) const { return {{}, "run succeeded", {}}; }
  EventLine operator()(const RunFailed& event) const {
    return {{}, with_colon("run failed: " + event.code, event.message), event.station};
  }
  EventLine operator()(const RunCancelRequested& event) const {
    return {{}, with_colon("cancel asked for by " + record.actor, event.reason), {}};
  }
  EventLine operator()(const RunCanceled& event) const {
    return {{}, with_colon("run canceled", event.reason), {}};
  }
  EventLine operator()(const RunPaused& event) const {
    return {{}, with_colon("run paused by " + record.actor, event.reason), {}};
  }
  EventLine operator()(const RunResumed& event) const {
    return {{}, with_colon("run resumed by " + record.actor, event.reason), {}};
  }
  EventLine operator()(const ServicePaused& event) const {
    return {{}, with_colon("service paused by " + record.actor, event.reason), {}};
  }
  EventLine operator()(const ServiceResumed& event) const {
    return {{}, with_colon("service resumed by " + record.actor, event.reason), {}};
  }
  EventLine operator()(const RunRetried& event) const {
    return {{}, with_colon("run retried by " + record.actor, event.reason), event.station};
  }
  EventLine operator()(const LateUsageReported& event) const {
    return {{}, attempt_text(event.attempt, "had used what was told only now"), event.station};
  }
  EventLine operator()(const StationClaimed& event) const {
    return {{}, attempt_text(event.attempt, "started, by " + event.worker), event.station};
  }
  EventLine operator()(const StationSucceeded& event) const {
    return {{}, attempt_text(event.attempt, "succeeded"), event.station};
  }
  EventLine operator()(const StationAttemptFailed& event) const {
    return {{},
            attempt_text(event.attempt, shown_failure(event.failure) + "; the next one is " +
                                            shown_enum(event.next_strategy)),
            event.station};
  }
  EventLine operator()(const StationDeferred& event) const {
    return {{}, with_colon("waits: " + shown_enum(event.reason), event.note), event.station};
  }
  EventLine operator()(const StationHeld& event) const {
    return {{},
            with_colon("waits for a person: " + shown_enum(event.reason), event.note),
            event.station};
  }
  EventLine operator()(const StationApprovalRequested& event) const {
    return {{}, attempt_text(event.attempt, "asks for an approval"), event.station};
  }
  EventLine operator()(const StationApprovalGiven& event) const {
    return {{}, with_colon("approved by " + record.actor, event.reason), event.station};
  }
  EventLine operator()(const StationResultHeld& event) const {
    return {
        {}, attempt_text(event.attempt, "succeeded; waits for a person: approval"), event.station};
  }
  EventLine operator()(const StationStalled& event) const {
    return {{},
            attempt_text(event.attempt, "hasn't got on for " + std::to_string(event.stalled_ms) +
                                            " ms: " + shown_enum(event.action)),
            event.station};
  }
  EventLine operator()(const WatchdogTimedOut& event) const {
    return {{},
            attempt_text(event.attempt,
                         "is out of time after " + std::to_string(event.elapsed_ms) + " ms"),
            event.station};
  }
  EventLine operator()(const CancelEscaped& event) const {
    std::string pids;
    for (const std::int32_t pid : event.pids) pids += " " + std::to_string(pid);
    return {{},
            pids.empty() ? std::string("canceled, but whether its remote job is gone isn't known")
                         : "canceled, but these processes are left:" + pids,
            event.station};
  }
  EventLine operator()(const LockExpired& event) const {
    return {{}, "lock " + record.stream.name + " expired, held by " + event.owner, {}};
  }
  EventLine operator()(const TickIncompleteDetected&) const {
    return {{}, "loop " + record.stream.name + ": the previous tick has no end", {}};
  }
  EventLine operator()(const TickFailed& event) const {
    return {{}, with_colon("loop " + record.stream.name + ": the tick failed", event.error), {}};
  }
  EventLine operator()(const PolicyRefused& event) const {
    const std::string line =
        event.line == 0 ? std::string() : "line " + std::to_string(event.line) + ": ";
    return {{},
            "HEARTBEAT.md of " + record.stream.name + " is refused: " + line + event.message +
                "; the policy before stays in force, and without one nothing is started or merged",
            {}};
  }
  EventLine operator()(const PolicyAdopted& event) const {
    const std::string file = "HEARTBEAT.md of " + record.stream.name;
    if (is_file_gone(event)) {
      return {{}, file + " is gone: nothing is started or merged until it is back", {}};
    }
    return {
        {},
        file + (event.digest.is_zero() ? " isn't there: the defaults are" : " is") + " in force",
        {}};
  }
  EventLine operator()(const CardBlocked& event) const {
    return {{},
            "card " + to_string(record.stream.run_id) +
                " is blocked: " + with_colon(event.code, event.message),
            {}};
  }
  EventLine operator()(const CardFailed& event) const {
    return {{},
            "card " + to_string(record.stream.run_id) +
                " failed: " + with_colon(event.code, event.message),
            {}};
  }
  EventLine operator()(const AccessDenied& event) const { return {{}, denial_text(event), {}}; }
  EventLine operator()(const RunnerDrained& event) const {
    return {{}, event.runner + " gets no new jobs: drained by " + record.actor, {}};
  }
  EventLine operator()(const RunnerUndrained& event) const {
    return {{}, event.runner + " gets jobs again: undrained by " + record.actor, {}};
  }
  EventLine operator()(const RunnerEvicted& event) const {
    return {{}, event.runner + " counts as gone for good: evicted by " + record.actor, {}};
  }
  EventLine operator()(const RunnerReadmitted& event) const {
    return {{}, event.runner + " may report again: readmitted by " + record.actor, {}};
  }
  template <class Other>
  EventLine operator()(const Other&) const {
    return {};
  }
};

// Returns the run that the line is about, or the nil id. Some events of a card name a run as well.
RunId run_of(const Record& record) {
  if (record.stream.kind == StreamKind::run) return record.stream.run_id;
  if (const auto* blocked = event_as<CardBlocked>(record.event)) return blocked->run_id;
  if (const auto* failed = event_as<CardFailed>(record.event)) return failed->run_id;
  return {};
}

}  // namespace

bool EventLines::has_room() {
  if (const std::int64_t second = clock_.monotonic_ns() / ns_per_s; second != second_) {
    second_ = second;
    lines_ = 0;
    if (const auto omitted = std::exchange(omitted_, 0); omitted > 0) {
      logger_.warn(std::to_string(omitted) +
                   " lines about events were omitted: `signalbox events` has them");
    }
  }
  if (lines_ < lines_per_second_max) {
    ++lines_;
    return true;
  }
  ++omitted_;
  return false;
}

void EventLines::write(const Record& record) {
  const auto level = apply(LevelOf{}, record.event);
  if (!level || !logger_.should_log(*level)) return;
  if (*level >= level_enum::info && !has_room()) return;
  const EventLine line = signalbox::apply(TextOf{record}, record.event);
  const RunId run_id = run_of(record);
  // The span of a run is its id, which the line has already.
  const Uuid span_id = record.span_id == run_id ? Uuid{} : record.span_id;
  log_about(logger_, *level, {run_id, line.station, span_id, record.position}, line.text);
}

}  // namespace signalbox
