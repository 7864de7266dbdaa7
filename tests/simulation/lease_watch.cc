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

void LeaseWatch::follow(const Record& record, Leases& leases) const {
  const std::int64_t now_ns = environment_.schedule.monotonic_ns();
  const auto renew = [&](Token token, std::int64_t lease_ms) {
    leases[token] = {now_ns, lease_ms};
  };
  if (const auto* claimed = event_as<StationClaimed>(record.event)) {
    renew(record.position, claimed->lease_ms);
  } else if (const auto* beat = event_as<StationHeartbeat>(record.event)) {
    renew(record.cause, beat->lease_ms);
  } else if (const auto* acquired = event_as<LockAcquired>(record.event)) {
    renew(record.position, acquired->lease_ms);
  } else if (const auto* refreshed = event_as<LockRefreshed>(record.event)) {
    renew(refreshed->token, refreshed->lease_ms);
  } else if (const auto* started = event_as<TickStarted>(record.event)) {
    renew(record.position, started->lease_ms);
  }
}

void LeaseWatch::applied(const Record& record) {
  follow(record, applied_);
  if (is_end_of_lease(record.event)) ended(record.cause);
  if (const auto* expired = event_as<LockExpired>(record.event)) ended(expired->token);
  if (const auto* timed_out = event_as<TickTimedOut>(record.event)) ended(timed_out->token);
}

void LeaseWatch::ended(Token token) {
  const auto lease = applied_.find(token);
  if (lease == applied_.end()) return environment_.violate("a lease ended that nobody had");
  const std::int64_t held_ms =
      (environment_.schedule.monotonic_ns() - lease->second.since_ns) / ns_per_ms;
  environment_.expect(held_ms >= lease->second.lease_ms,
                      "the lease of token " + std::to_string(token) + " ended after " +
                          std::to_string(held_ms) + " ms of " +
                          std::to_string(lease->second.lease_ms));
}

void LeaseWatch::begin_anew() {
  applied_ = durable_;
  for (auto& [token, lease] : applied_) lease.since_ns = environment_.schedule.monotonic_ns();
}

}  // namespace signalbox::simulation
