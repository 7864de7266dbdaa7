#include "server/replay/what_if/simulated_workers.h"

#include <algorithm>
#include <utility>

#include "domain/admission.h"
#include "domain/limits.h"
#include "domain/nanoseconds.h"

namespace signalbox {
namespace {

const Origin by_a_worker{"worker", {}, {}};

CompleteStation completion_as_recorded(const RunId& run_id, const std::string& station, Token token,
                                       const RecordedAttempt& attempt, std::int64_t now_ns) {
  CompleteStation command;
  command.run_id = run_id;
  command.station = station;
  command.token = token;
  command.outcome = attempt.outcome;
  command.usage = attempt.usage;
  if (attempt.outcome != Outcome::succeeded) {
    command.error_class = attempt.error_class;
    command.error_code = attempt.code;
  }
  if (attempt.given_back == WaitReason::quota) {
    command.outcome = Outcome::failed;
    command.error_class = ErrorClass::quota;
    command.quota_reset_at_ns = now_ns + attempt.wait_ns;
  }
  return command;
}

}  // namespace

bool SimulatedWorkers::apply_command(Command command) {
  return parts_.engine.begin(by_a_worker).apply(command).has_value();
}

void SimulatedWorkers::claim_ready() {
  while (busy_.size() < workers_ && claim_one()) {
  }
}

bool SimulatedWorkers::claim_one() {
  const World& world = parts_.engine.world();
  const auto run_id =
      admits_work(world) ? world.ready.oldest(ExecutorKind::worker, {}) : std::optional<RunId>();
  if (!run_id) return false;
  const Run& run = *world.find_run(*run_id);
  Attempt attempt;
  attempt.run_id = *run_id;
  attempt.station = run.definition().name;
  attempt.began_ns = parts_.time.wall_ns();
  attempt.number = run.station().attempts + 1;
  attempt.recorded = &parts_.pool.attempt(*run_id, attempt.station, attempt.number);
  if (attempt.recorded->ending == AttemptEnding::silent) {
    attempt.kept_end =
        parts_.pool.kept_end(*run_id, attempt.station, attempt.number, *attempt.recorded);
  }
  attempt.lease_ms = attempt.recorded->lease_ms > 0 ? attempt.recorded->lease_ms
                                                    : run.definition().heartbeat_timeout_ms;
  attempt.lease_ms = parts_.policy.lease_ms(attempt.station).value_or(attempt.lease_ms);
  auto transaction = parts_.engine.begin(by_a_worker);
  ClaimStation claim;
  claim.worker = "worker";
  claim.run_id = run_id;
  claim.lease_ms = attempt.lease_ms;
  claim.span_id = attempt.span_id = parts_.ids.next_span_id();
  const auto claimed = transaction.apply(claim);
  if (!claimed || *claimed == 0) return false;
  attempt.token = transaction.records().front().position;
  const Token token = attempt.token;
  busy_.emplace(token, std::move(attempt));
  schedule_next(token);
  return true;
}

// Heartbeats that say nothing new aren't recorded: an attempt that outlived its lease between two
// words of it renewed it meanwhile.
std::optional<std::int64_t> SimulatedWorkers::unrecorded_renewal_ns(const Attempt& attempt) const {
  const RecordedAttempt& recorded = *attempt.recorded;
  if (recorded.lease_ms == 0) return std::nullopt;
  std::int64_t word_ns = 0;
  if (attempt.beats < recorded.beats.size()) {
    word_ns = recorded.beats[attempt.beats].after_ns;
  } else if (recorded.ending == AttemptEnding::reported) {
    word_ns = recorded.worked_ns;
  } else if (recorded.ending == AttemptEnding::silent) {
    word_ns = recorded.worked_ns - recorded.lease_ms * ns_per_ms;  // that lease's latest renewal
  }
  const std::int64_t before_ns =
      attempt.beats == 0 ? 0 : recorded.beats[attempt.beats - 1].after_ns;
  if (word_ns - before_ns <= recorded.lease_ms * ns_per_ms) return std::nullopt;
  const std::int64_t next_ns = parts_.time.wall_ns() + attempt.lease_ms * ns_per_ms / 2;
  if (next_ns >= attempt.began_ns + word_ns) return std::nullopt;
  return next_ns;
}

void SimulatedWorkers::schedule_next(Token token) {
  const Attempt& attempt = busy_.at(token);
  const RecordedAttempt& recorded = *attempt.recorded;
  const auto renewal_ns = unrecorded_renewal_ns(attempt);
  const bool has_beat = attempt.beats < recorded.beats.size();
  if (attempt.questions < recorded.questions.size()) {
    const std::int64_t asks_ns = recorded.questions[attempt.questions].after_ns;
    const bool is_before_renewal = !renewal_ns || attempt.began_ns + asks_ns <= *renewal_ns;
    if (is_before_renewal && (!has_beat || asks_ns <= recorded.beats[attempt.beats].after_ns)) {
      return parts_.time.at(attempt.began_ns + asks_ns, [this, token] { ask(token); });
    }
  }
  if (renewal_ns) return parts_.time.at(*renewal_ns, [this, token] { renew(token); });
  if (has_beat) {
    return parts_.time.at(attempt.began_ns + recorded.beats[attempt.beats].after_ns,
                          [this, token] { beat(token); });
  }
  switch (recorded.ending) {
    case AttemptEnding::reported:
      return parts_.time.at(attempt.began_ns + recorded.worked_ns, [this, token] { end(token); });
    case AttemptEnding::open:  // it keeps its lease until it is ended
      return parts_.time.after(std::min(attempt.lease_ms, limits::lease_ms_max / 2) * ns_per_ms / 2,
                               [this, token] { beat(token); });
    case AttemptEnding::silent:
      if (!attempt.kept_end) return;
      return parts_.time.at(attempt.began_ns + attempt.kept_end->after_ns,
                            [this, token] { end(token); });
  }
}

bool SimulatedWorkers::must_stop(const Attempt& attempt) const {
  const Run* run = parts_.engine.world().find_run(attempt.run_id);
  return run != nullptr && run->cancel_requested;
}

void SimulatedWorkers::ask(Token token) {
  const auto place = busy_.find(token);
  if (place == busy_.end()) return;
  Attempt& attempt = place->second;
  if (must_stop(attempt)) return end(token);
  parts_.questions.ask(attempt.run_id, attempt.station, token,
                       attempt.recorded->questions[attempt.questions++]);
  if (busy_.contains(token)) schedule_next(token);
}

void SimulatedWorkers::beat(Token token) {
  const auto place = busy_.find(token);
  if (place == busy_.end()) return;
  Attempt& attempt = place->second;
  if (must_stop(attempt)) return end(token);
  const auto& beats = attempt.recorded->beats;
  HeartbeatStation heartbeat{attempt.run_id, attempt.station, token, attempt.lease_ms, {}};
  if (attempt.beats < beats.size()) {
    heartbeat.progress_digest = beats[attempt.beats].progress;
  } else {
    attempt.lease_ms =
        limits::lease_ms_max;  // no more progress is recorded, so few heartbeats are enough
    heartbeat.lease_ms = attempt.lease_ms;
  }
  ++attempt.beats;
  if (!apply_command(heartbeat)) return free(token);  // the refusal shows that its lease was lost
  schedule_next(token);
}

void SimulatedWorkers::renew(Token token) {
  const auto place = busy_.find(token);
  if (place == busy_.end()) return;
  const Attempt& attempt = place->second;
  if (must_stop(attempt)) return end(token);
  const HeartbeatStation heartbeat{attempt.run_id, attempt.station, token, attempt.lease_ms, {}};
  if (!apply_command(heartbeat)) return free(token);  // as in beat()
  schedule_next(token);
}

void SimulatedWorkers::end(Token token) {
  const auto place = busy_.find(token);
  if (place == busy_.end()) return;
  const Attempt attempt = place->second;  // gone there once apply() has seen that it ended
  const bool is_kept = attempt.kept_end.has_value();
  const RecordedAttempt& recorded =
      attempt.kept_end ? *attempt.kept_end->result : *attempt.recorded;
  if (must_stop(attempt)) {
    CompleteStation stopped;
    stopped.run_id = attempt.run_id;
    stopped.station = attempt.station;
    stopped.token = token;
    stopped.outcome = Outcome::canceled;
    (void)apply_command(stopped);
  } else if (recorded.given_back == WaitReason::deferred) {
    (void)apply_command(
        DeferStation{attempt.run_id, attempt.station, token, recorded.wait_ns / ns_per_ms, {}});
    tell_late(attempt, recorded.usage);
  } else {
    CompleteStation completion = completion_as_recorded(attempt.run_id, attempt.station, token,
                                                        recorded, parts_.time.wall_ns());
    // The log may have what it has used up, though not how it ended.
    const Usage own = attempt.recorded->usage;
    if (own != Usage{}) completion.usage = own;
    const bool taken = apply_command(std::move(completion));
    if (taken && is_kept) ++kept_;
    if (!taken) tell_late(attempt, own);
  }
  free(token);  // even if the command was refused: the work is over
}

void SimulatedWorkers::tell_late(const Attempt& attempt, const Usage& usage) {
  (void)apply_command(NoteLateUsage{attempt.run_id, attempt.station, attempt.number, attempt.token,
                                    attempt.span_id, usage, parts_.engine.world().position});
}

void SimulatedWorkers::free(Token token) {
  if (busy_.erase(token) > 0) freed_();
}

void SimulatedWorkers::apply(std::span<const Record> records) {
  for (const Record& record : records) {
    const bool ended = event_as<StationAttemptFailed>(record.event) != nullptr ||
                       event_as<StationFailed>(record.event) != nullptr ||
                       event_as<StationTimedOut>(record.event) != nullptr ||
                       event_as<StationCanceled>(record.event) != nullptr;
    if (!ended) continue;
    const auto place = busy_.find(record.cause);
    if (place == busy_.end()) continue;
    const RecordedAttempt& recorded = *place->second.recorded;
    const bool works_on = recorded.ending == AttemptEnding::reported || recorded.returned_ns;
    if (!works_on) free(record.cause);
  }
}

}  // namespace signalbox
