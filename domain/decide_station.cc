// Decisions about the current station of a run: claim, heartbeat, external ref, complete, defer,
// dispatch. What follows a failed attempt is in attempt_end.h.
#include <algorithm>
#include <iterator>

#include "domain/admission.h"
#include "domain/attempt_end.h"
#include "domain/check.h"
#include "domain/decide.h"
#include "domain/held_station.h"
#include "domain/job_machine.h"
#include "domain/limits.h"
#include "domain/placement.h"
#include "domain/refusals.h"
#include "domain/station_turn.h"
#include "domain/step_end.h"
#include "domain/text_parts.h"
#include "domain/try.h"

namespace signalbox {
namespace {

// A worker's reference to its work may be a URL.
Decided<void> require_plain_ref(const std::string& external_ref) {
  return require_no_credentials("external_ref", external_ref, "leave them out of the URL",
                                "signalbox station set-external-ref --help");
}

StationClaimed claim_of(const Run& run, const std::string& worker, std::int64_t lease_ms,
                        Token lock_token) {
  const StationState& station = run.station();
  return {run.definition().name,
          station.attempts + 1,
          run.definition().retry.strategies[station.strategy_index],
          worker,
          lease_ms,
          lock_token};
}

Decided<void> require_fitting(const AttemptResult& result, const Failure& failure) {
  TRY(require_at_most("summary", result.summary, limits::summary_bytes_max));
  TRY(require_at_most("logs_inline", result.logs_inline, limits::logs_inline_bytes_max));
  TRY(require_at_most("metadata", result.metadata, limits::metadata_bytes_max));
  TRY(require_at_most("external_ref", result.external_ref, limits::path_bytes_max));
  TRY(require_token("error_code", failure.code, limits::name_bytes_max));
  TRY(require_at_most("error_message", failure.message, limits::reason_bytes_max));
  TRY(require_artifacts(result.artifacts));
  return {};
}

// Returns the note for a usage limit that outlasts the longest wait: the station is tried again
// before the limit is over.
std::string note_of_capped_wait(std::int64_t left_ns) {
  constexpr std::int64_t ms_per_day = 24LL * 60 * 60 * 1000;
  constexpr std::int64_t ns_per_day = ms_per_day * 1'000'000;
  return "the limit is over in " + std::to_string((left_ns + ns_per_day - 1) / ns_per_day) +
         " days; a station waits at most " + std::to_string(limits::defer_ms_max / ms_per_day) +
         " days at once, and is tried again then";
}

// The shortest wait for a usage limit. It doesn't count as a failure, so that a limit whose end has
// passed, but that is met again, would otherwise be tried again without a pause and without end.
constexpr std::int64_t quota_wait_ms_min = 5'000;

// Returns the events that defer the station until the usage limit is over, and for a retry's
// backoff at least. A usage limit doesn't count as a failure.
NewEvents wait_for_quota(const Run& run, std::int64_t reset_at_ns, std::string note,
                         const Now& now) {
  const Attempt& attempt = *run.attempt;
  const std::int64_t latest_ns = now.wall_ns + limits::defer_ms_max * 1'000'000;
  const std::int64_t pause_ms =
      std::max(backoff_ms(run.definition().retry, run.station().failures + 1), quota_wait_ms_min);
  const std::int64_t until_ns =
      std::clamp(reset_at_ns, now.wall_ns + pause_ms * 1'000'000, latest_ns);
  if (reset_at_ns > latest_ns) {
    note += (note.empty() ? "" : "; ") + note_of_capped_wait(reset_at_ns - now.wall_ns);
  }
  NewEvents events = end_own_steps(run, "QUOTA", now);
  events.push_back({Stream::run(run.id), attempt.span_id, attempt.token,
                    StationEvent{StationDeferred{run.definition().name, attempt.number,
                                                 WaitReason::quota, until_ns, std::move(note)}}});
  return events;
}

// Returns the events after a worker reported that it was asked to stop: the run ends as canceled.
NewEvents end_canceled(const Run& run, const std::string& reason) {
  const Attempt& attempt = *run.attempt;
  const Stream stream = Stream::run(run.id);
  return {{stream, attempt.span_id, attempt.token,
           StationEvent{StationCanceled{run.definition().name}}},
          {stream, {}, attempt.token, RunEvent{RunCanceled{reason}}}};
}

// A success and the run's end.
constexpr std::size_t success_events_usual = 2;

// Bytes of the files' names in a question or a message.
constexpr std::size_t changed_names_bytes_max = 700;
static_assert(changed_names_bytes_max + 200 < limits::reason_bytes_max);

std::string changed_checks_text(const CompleteStation& command) {
  return "the work changes files that decide how it is checked: " +
         std::string(utf8_prefix(command.checks_changed, changed_names_bytes_max));
}

// Returns the events that hold the result until a person has decided.
NewEvents ask_about_changed_checks(const Run& run, const CompleteStation& command,
                                   AttemptResult result) {
  const Attempt& attempt = *run.attempt;
  const Stream stream = Stream::run(run.id);
  NewEvents events{{stream, attempt.span_id, attempt.token,
                    StationEvent{StationApprovalRequested{
                        command.station, attempt.number,
                        changed_checks_text(command) + ". May it be merged?"}}}};
  events.push_back(
      {stream, attempt.span_id, attempt.token,
       StationEvent{StationResultHeld{command.station, attempt.number, std::move(result)}}});
  return events;
}

NewEvents end_of_attempt(const World& world, const Run& run, const CompleteStation& command,
                         Failure failure, AttemptResult result, const Now& now) {
  const Attempt& attempt = *run.attempt;
  switch (command.outcome) {
    case Outcome::succeeded: {
      if (asks_approval(run)) {
        return NewEvents{
            {Stream::run(run.id), attempt.span_id, attempt.token,
             StationEvent{StationResultHeld{command.station, attempt.number, std::move(result)}}}};
      }
      const bool is_changed = command.from_executor && !command.checks_changed.empty();
      const auto rule = is_changed ? rule_for_changed_checks(world, run) : std::nullopt;
      if (rule == ChecksChanged::approve) {
        return ask_about_changed_checks(run, command, std::move(result));
      }
      if (rule == ChecksChanged::refuse) {
        return end_attempt(run,
                           {Outcome::failed, ErrorClass::config, std::string(checks_changed_code),
                            changed_checks_text(command) + ", which the policy refuses"},
                           std::move(result), now);
      }
      NewEvents events;  // not a braced list, which would copy the event
      events.reserve(success_events_usual);
      events.push_back(
          {Stream::run(run.id), attempt.span_id, attempt.token,
           StationEvent{StationSucceeded{command.station, attempt.number, std::move(result)}}});
      const Usage used = run.used + command.usage.value_or(Usage{});
      NewEvents next = after_success(run, used, attempt.token);
      std::move(next.begin(), next.end(), std::back_inserter(events));
      return events;
    }
    case Outcome::failed:
      if (failure.code.empty()) failure.code = "FAILED";
      // A run without room for more waits ends at last, by its failures.
      if (failure.error_class == ErrorClass::quota && command.quota_reset_at_ns &&
          require_room(run)) {
        return wait_for_quota(run, *command.quota_reset_at_ns, failure.message, now);
      }
      return end_attempt(run, std::move(failure), std::move(result), now);
    case Outcome::timeout: {
      failure.error_class = command.error_class.value_or(ErrorClass::transient);
      if (failure.code.empty()) failure.code = "TIMEOUT";
      NewEvents events;
      // Code TIMEOUT from an executor: the job's shim enforced the station's timeout. A timeout of
      // something inside the job has another code.
      if (command.from_executor && failure.code == "TIMEOUT") {
        events.push_back(
            watchdog_timed_out(run, (now.wall_ns - attempt.started_at_ns) / 1'000'000));
      }
      NewEvents end = end_attempt(run, std::move(failure), std::move(result), now);
      std::move(end.begin(), end.end(), std::back_inserter(events));
      return events;
    }
    case Outcome::canceled:
      return end_canceled(run, failure.message.empty()
                                   ? std::string(utf8_prefix(result.summary, 256))
                                   : failure.message);
  }
  SIGNALBOX_CHECK(false);
}

}  // namespace

Decided<NewEvents> decide(const World& world, const ClaimStation& command, const Now& now) {
  TRY(require_name("worker", command.worker, limits::name_bytes_max));
  TRY(require_lease(command.lease_ms));
  if (command.stations.size() > limits::stations_max) {
    return reject(ErrorCode::LIMIT_EXCEEDED, "too many stations named",
                  {{"stations_max", static_cast<std::int64_t>(limits::stations_max)}});
  }
  TRY(require_lock(world, command.lock_token, now.by));

  const Run* run = nullptr;
  if (command.run_id) {
    const auto found = TRY(open_run(world, *command.run_id));
    run = found;
    for (const std::string& station : command.stations) {
      TRY(current_station(world, *command.run_id, station));
    }
    if (run->definition().executor != ExecutorKind::worker) {
      return reject(ErrorCode::STATION_NOT_CLAIMABLE,
                    "station " + run->definition().name + " is executed by the service itself",
                    station_details(*run, run->definition().name), run_get_command(*run));
    }
    if (run->station().ready_at == 0 || !admits_work(world)) return NewEvents{};
  } else {
    if (!admits_work(world)) return NewEvents{};
    const auto oldest = world.ready.oldest(ExecutorKind::worker, command.stations);
    if (!oldest) return NewEvents{};
    run = world.find_run(*oldest);
    SIGNALBOX_CHECK(run != nullptr);
  }
  const std::int64_t lease_ms = command.lease_ms.value_or(run->definition().heartbeat_timeout_ms);
  NewEvents events;  // not a braced list, which would copy the event
  events.push_back(
      {Stream::run(run->id), command.span_id, 0,
       StationEvent{claim_of(*run, command.worker, lease_ms, command.lock_token.value_or(0))}});
  return events;
}

Decided<NewEvents> decide(const World& world, const DispatchStation& command, const Now&) {
  if (!admits_work(world)) return NewEvents{};
  const Run* run = world.find_run(command.run_id);
  if (run == nullptr || run->station().ready_at == 0) return NewEvents{};
  if (run->definition().executor == ExecutorKind::worker) return NewEvents{};
  if (world.standing_of(command.machine) != RunnerStanding::free) return NewEvents{};
  const std::string worker = is_runner(command.machine) ? command.machine : "signalbox";
  const StationClaimed claim = claim_of(*run, worker, /*lease_ms=*/0, /*lock_token=*/0);
  const std::string job_id =
      to_string(run->id) + "-" + claim.station + "-" + std::to_string(claim.attempt);
  const Stream stream = Stream::run(run->id);
  NewEvents events{{stream, command.span_id, 0, StationEvent{claim}},
                   {stream, command.span_id, 0,
                    StationEvent{StationSubmitIntended{claim.station, job_id, command.machine}}}};
  if (!command.external_ref.empty()) {
    events.push_back({stream, command.span_id, 0,
                      StationEvent{StationExternalRefSet{claim.station, command.external_ref}}});
  }
  NewEvents reopened = reopen_steps(*run);
  std::move(reopened.begin(), reopened.end(), std::back_inserter(events));
  return events;
}

Decided<NewEvents> decide(const World& world, const HeartbeatStation& command, const Now& now) {
  TRY(require_lease(command.lease_ms));
  const std::string progress = command.progress_digest.value_or("");
  TRY(require_at_most("progress_digest", progress, limits::name_bytes_max));
  const auto held =
      TRY(held_station(world, command.run_id, command.station, command.token, now.by));
  const Attempt& attempt = *held->attempt;
  // The service watches an attempt without a lease; its job can't give itself one.
  const std::int64_t lease_ms =
      attempt.lease_ms == 0 ? 0 : command.lease_ms.value_or(attempt.lease_ms);
  const Stream stream = Stream::run(command.run_id);
  NewEvents events{{stream, attempt.span_id, attempt.token,
                    StationEvent{StationHeartbeat{command.station, lease_ms, progress}}}};
  const bool stalled =
      held->station().status == StationStatus::waiting && !attempt.ending && !asks_approval(*held);
  if (stalled && !progress.empty() && progress != attempt.progress_digest) {
    events.push_back({stream, attempt.span_id, attempt.token,
                      StationEvent{StationProgressed{command.station, attempt.number, progress}}});
  }
  return events;
}

bool is_mere_renewal(const World& world, const HeartbeatStation& command) {
  const Run* const run = world.find_run(command.run_id);
  if (run == nullptr || !run->attempt || run->cancel_requested) return false;
  const Attempt& attempt = *run->attempt;
  const std::string progress = command.progress_digest.value_or("");
  const bool is_same_lease =
      attempt.lease_ms == 0 || command.lease_ms.value_or(attempt.lease_ms) == attempt.lease_ms;
  return is_same_lease && run->station().status == StationStatus::running && !attempt.ending &&
         (progress.empty() || progress == attempt.progress_digest);
}

Decided<NewEvents> decide(const World& world, const SetExternalRef& command, const Now& now) {
  TRY(require_not_empty("external_ref", command.external_ref, limits::path_bytes_max));
  if (!command.from_executor) TRY(require_plain_ref(command.external_ref));
  const auto held =
      TRY(held_station(world, command.run_id, command.station, command.token, now.by));
  TRY(require_may_report(*held, command.from_executor));
  const Attempt& attempt = *held->attempt;
  if (attempt.external_ref == command.external_ref) return NewEvents{};
  TRY(require_room(*held));
  return NewEvents{{Stream::run(command.run_id), attempt.span_id, attempt.token,
                    StationEvent{StationExternalRefSet{command.station, command.external_ref}}}};
}

Decided<NewEvents> decide(const World& world, const CompleteStation& command, const Now& now) {
  AttemptResult result{command.summary.value_or(""), command.logs_inline.value_or(""),
                       command.external_ref.value_or(""), command.metadata.value_or(""),
                       command.stored_artifacts};
  Failure failure{command.outcome, command.error_class.value_or(ErrorClass::terminal),
                  command.error_code.value_or(""), command.error_message.value_or("")};
  TRY(require_fitting(result, failure));
  if (!command.from_executor) TRY(require_plain_ref(result.external_ref));
  TRY(require_lease(command.lease_ms));
  const Usage usage = command.usage.value_or(Usage{});
  TRY(validate(usage));
  const auto held =
      TRY(held_station(world, command.run_id, command.station, command.token, now.by));
  const Run& run = *held;
  TRY(require_may_report(run, command.from_executor));
  const Attempt& attempt = *run.attempt;
  if (run.cancel_requested) {
    return decide(world, ConfirmCancel{run.id, attempt.token, {}, /*unconfirmed=*/false, usage},
                  now);
  }
  if (result.external_ref.empty()) result.external_ref = attempt.external_ref;
  NewEvents events = usage_report(run, usage);
  const auto incomplete =
      command.outcome == Outcome::succeeded ? incomplete_todo(run) : std::nullopt;
  NewEvents end;
  if (incomplete) {
    end = end_attempt(run, *incomplete, std::move(result), now);
  } else if (attempt.ending && command.outcome != Outcome::succeeded) {
    end = end_stalled_attempt(run, std::move(result), now);
  } else {
    end = end_of_attempt(world, run, command, std::move(failure), std::move(result), now);
  }
  if (events.empty()) return end;
  std::move(end.begin(), end.end(), std::back_inserter(events));
  return events;
}

Decided<NewEvents> decide(const World& world, const RequestApproval& command, const Now& now) {
  TRY(require_name("question", command.question, limits::reason_bytes_max));
  const auto held =
      TRY(held_station(world, command.run_id, command.station, command.token, now.by));
  const Attempt& attempt = *held->attempt;
  // A stalled attempt whose job is being ended has no use for an approval.
  if (asks_approval(*held) || attempt.ending) return NewEvents{};
  return NewEvents{
      {Stream::run(command.run_id), attempt.span_id, attempt.token,
       StationEvent{StationApprovalRequested{command.station, attempt.number, command.question}}}};
}

Decided<NewEvents> decide(const World& world, const SettleStation& command, const Now& now) {
  const std::string reason = command.reason.value_or("");
  TRY(require_at_most("reason", reason, limits::reason_bytes_max));
  if (command.outcome != Outcome::succeeded && command.outcome != Outcome::failed) {
    return reject(ErrorCode::INVALID_PARAMS, "an attempt is settled as succeeded or as failed",
                  {{"field", std::string("outcome")}});
  }
  // A person settles it, and not the executor that holds the token.
  const auto held =
      TRY(held_station(world, command.run_id, command.station, command.token, Sender{}));
  const Run& run = *held;
  if (!is_job_elsewhere(run, command.machine, command.has_directory)) {
    return reject(ErrorCode::STATION_NOT_CLAIMABLE,
                  "station " + run.definition().name +
                      " has no job of another machine: it ends by itself, or with its run",
                  station_details(run, run.definition().name), run_get_command(run));
  }
  CompleteStation end;
  end.from_executor = true;
  end.run_id = command.run_id;
  end.station = command.station;
  end.token = command.token;
  end.outcome = command.outcome;
  if (command.outcome == Outcome::succeeded) {
    end.summary = reason;
  } else {
    end.error_class = ErrorClass::lost;
    end.error_code = "JOB_LOST";
    end.error_message = reason;
  }
  return decide(world, end, now);
}

Decided<NewEvents> decide(const World& world, const DeferStation& command, const Now& now) {
  const std::string note = command.note.value_or("");
  TRY(require_between("delay_ms", command.delay_ms, 0, limits::defer_ms_max));
  TRY(require_at_most("note", note, limits::reason_bytes_max));
  const auto held =
      TRY(held_station(world, command.run_id, command.station, command.token, now.by));
  TRY(require_may_report(*held, false));
  TRY(require_room(*held));
  const Attempt& attempt = *held->attempt;
  return NewEvents{
      {Stream::run(command.run_id), attempt.span_id, attempt.token,
       StationEvent{StationDeferred{command.station, attempt.number, WaitReason::deferred,
                                    now.wall_ns + command.delay_ms * 1'000'000, note}}}};
}

}  // namespace signalbox
