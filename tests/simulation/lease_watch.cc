#include "tests/simulation/lease_watch.h"

namespace signalbox::simulation {
namespace {

bool is_end_of_lease(const Event& event) {
  if (const auto* failed = event_as<StationAttemptFailed>(event)) {
    return failed->failure.code == "LEASE_EXPIRED";
  }
  const auto* failed = event_as<StationFailed>(event);
  return failed != nullptr && failed->failure.code == "LEASE_EXPIRED";
}

}  // namespace

void LeaseWatch::get_on(Token token, Deadlines& deadlines) const {
  const auto terms = terms_.find(token);
  if (terms == terms_.end()) return;
  const std::int64_t now_ns = environment_.schedule.monotonic_ns();
  deadlines.all[{token, Kind::timeout}] = {now_ns, terms->second.timeout_ms};
  deadlines.all[{token, Kind::stall}] = {now_ns, terms->second.stall_after_ms};
}

void LeaseWatch::follow_beat(const Record& record, const StationHeartbeat& beat,
                             Deadlines& deadlines) const {
  const std::int64_t now_ns = environment_.schedule.monotonic_ns();
  deadlines.all[{record.cause, Kind::lease}] = {now_ns, beat.lease_ms};
  std::string& known = deadlines.progress[record.cause];
  if (beat.progress_digest.empty() || beat.progress_digest == known) return;
  known = beat.progress_digest;
  get_on(record.cause, deadlines);
}

bool LeaseWatch::follow_step(const Record& record, Deadlines& deadlines) const {
  const std::int64_t now_ns = environment_.schedule.monotonic_ns();
  if (const auto* started = event_as<StepAttemptStarted>(record.event)) {
    deadlines.all[{record.position, Kind::lease}] = {now_ns, started->lease_ms};
    deadlines.steps[record.stream.run_id].push_back(record.position);
    get_on(record.position, deadlines);
  } else if (const auto* beat = event_as<StepHeartbeat>(record.event)) {
    deadlines.all[{record.cause, Kind::lease}] = {now_ns, beat->lease_ms};
  } else {
    return false;
  }
  return true;
}

// Steps without a lease are timed by the worker that does them, and by the server some time later.
void LeaseWatch::step_applied(const World& world, const Record& record) {
  if (event_as<StepAttemptStarted>(record.event) != nullptr) {
    const Run* run = world.find_run(record.stream.run_id);
    terms_.erase(record.position);  // of an attempt that was rolled back
    if (run != nullptr && run->definition().deep_work) {
      terms_[record.position] = {run->definition().deep_work->step_timeout_ms, 0};
    }
  }
  const Failure* failure = nullptr;
  if (const auto* again = event_as<StepAttemptFailed>(record.event)) failure = &again->failure;
  if (const auto* failed = event_as<StepFailed>(record.event)) failure = &failed->failure;
  if (failure == nullptr) return;
  if (failure->code == "LEASE_EXPIRED") ended(record.cause, Kind::lease);
  if (failure->code == "TIMEOUT") ended(record.cause, Kind::timeout);
}

void LeaseWatch::follow(const Record& record, Deadlines& deadlines) const {
  if (follow_step(record, deadlines)) return;
  const std::int64_t now_ns = environment_.schedule.monotonic_ns();
  const auto renew = [&](Token token, std::int64_t lease_ms) {
    deadlines.all[{token, Kind::lease}] = {now_ns, lease_ms};
  };
  if (const auto* claimed = event_as<StationClaimed>(record.event)) {
    renew(record.position, claimed->lease_ms);
    deadlines.attempts[record.stream.run_id] = record.position;
    get_on(record.position, deadlines);
  } else if (const auto* beat = event_as<StationHeartbeat>(record.event)) {
    follow_beat(record, *beat, deadlines);
  } else if (event_as<RunResumed>(record.event) != nullptr) {
    get_on(deadlines.attempts[record.stream.run_id], deadlines);
    for (const Token token : deadlines.steps[record.stream.run_id]) get_on(token, deadlines);
  } else if (event_as<StationStalled>(record.event) != nullptr) {
    deadlines.all[{record.cause, Kind::stall}].since_ns = now_ns;
  } else if (const auto* acquired = event_as<LockAcquired>(record.event)) {
    renew(record.position, acquired->lease_ms);
  } else if (const auto* refreshed = event_as<LockRefreshed>(record.event)) {
    renew(refreshed->token, refreshed->lease_ms);
  } else if (const auto* started = event_as<TickStarted>(record.event)) {
    renew(record.position, started->lease_ms);
  } else if (event_as<ClockJumped>(record.event) != nullptr) {
    set_all(deadlines, now_ns);
  }
}

void LeaseWatch::applied(const World& world, const Record& record) {
  if (event_as<StationClaimed>(record.event) != nullptr) {
    const Run* run = world.find_run(record.stream.run_id);
    terms_.erase(record.position);  // of a claim that was rolled back
    if (run != nullptr && run->attempt && run->attempt->token == record.position) {
      terms_[record.position] = {run->definition().timeout_ms, run->definition().stall_after_ms};
    }
  }
  step_applied(world, record);
  if (event_as<StationStalled>(record.event) != nullptr) ended(record.cause, Kind::stall);
  follow(record, applied_);
  if (is_end_of_lease(record.event)) ended(record.cause, Kind::lease);
  if (const auto* expired = event_as<LockExpired>(record.event)) ended(expired->token, Kind::lease);
  if (const auto* tick = event_as<TickTimedOut>(record.event)) ended(tick->token, Kind::lease);
  if (event_as<WatchdogTimedOut>(record.event) == nullptr) return;
  const auto lease = applied_.all.find({record.cause, Kind::lease});
  // Jobs of the service itself are timed by their supervisors.
  if (lease != applied_.all.end() && lease->second.length_ms > 0) {
    ended(record.cause, Kind::timeout);
  }
}

void LeaseWatch::renewed(Token token) {
  const auto place = applied_.all.find({token, Kind::lease});
  if (place == applied_.all.end())
    return environment_.violate("a lease is renewed that nobody had");
  place->second.since_ns = environment_.schedule.monotonic_ns();
}

void LeaseWatch::ended(Token token, Kind kind) {
  const auto place = applied_.all.find({token, kind});
  if (place == applied_.all.end()) return environment_.violate("a lease ended that nobody had");
  const Deadline& deadline = place->second;
  const std::int64_t held_ms =
      (environment_.schedule.monotonic_ns() - deadline.since_ns) / ns_per_ms;
  const char* what = kind == Kind::lease     ? "lease"
                     : kind == Kind::timeout ? "time"
                                             : "patience with the stall";
  environment_.expect(held_ms >= deadline.length_ms, std::string("the ") + what + " of token " +
                                                         std::to_string(token) + " ended after " +
                                                         std::to_string(held_ms) + " ms of " +
                                                         std::to_string(deadline.length_ms));
}

void LeaseWatch::set_all(Deadlines& deadlines, std::int64_t since_ns) {
  for (auto& [key, deadline] : deadlines.all) deadline.since_ns = since_ns;
}

void LeaseWatch::begin_anew() {
  applied_ = durable_;
  set_all(applied_, environment_.schedule.monotonic_ns());
}

}  // namespace signalbox::simulation
