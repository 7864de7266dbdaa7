#include "tests/simulation/worker_client.h"

#include <algorithm>
#include <array>

#include "server/text/described_json.h"
#include "server/text/time_text.h"
#include "tests/simulation/any_settings.h"

namespace signalbox::simulation {
namespace {

namespace json = boost::json;

constexpr std::int64_t worker_patience_ms = 700;

}  // namespace

json::object WorkerClient::held() const {
  return {{"run_id", run_id_}, {"station", station_}, {"token", token_}};
}

void WorkerClient::claim() {
  const std::int64_t wait_ms = between(0, 3) * 1000;
  json::object params{{"worker", name()}, {"wait_ms", wait_ms}};
  if (one_in(3)) params["lease_ms"] = between(100, 4000);
  if (one_in(8)) params["stations"] = json::array{"implement", "work"};
  lock_token_ = !calm() && one_in(4) ? context_.held_locks.any_token() : 0;
  if (lock_token_ != 0) params["lock_token"] = lock_token_;
  ask("station.claim", params, wait_ms + worker_patience_ms, &WorkerClient::on_claimed);
}

void WorkerClient::on_claimed(const Reply& reply) {
  expect_code(reply, {"LOCK_LOST"});
  if (reply.code == "LOCK_LOST") {
    environment_.expect(
        lock_token_ != 0 && !context_.held_locks.is_relied_on(lock_token_),
        "a claim was refused for lock token " + std::to_string(lock_token_) + ", which is held");
  }
  if (reply.code.empty() && !reply.result.at("claim").is_null()) {
    return take(reply.result.at("claim").as_object());
  }
  later(between(50, 500), &WorkerClient::claim);
}

void WorkerClient::take(const json::object& claim) {
  run_id_ = claim.at("run_id").as_string();
  station_ = claim.at("station").as_string();
  token_ = claim.at("token").to_number<Token>();
  lease_ms_ = claim.at("lease_ms").to_number<std::int64_t>();
  beats_left_ = between(0, 5);
  is_stuck_ = environment_.faults.strikes(Fault::worker_stuck);
  if (is_stuck_) beats_left_ = between(5, 60);
  work();
}

void WorkerClient::work() {
  if (environment_.faults.strikes(Fault::zombie)) {
    environment_.note(name() + " stops for a while");
    return later(lease_ms_ * between(1, 4) + 50,
                 one_in(2) ? &WorkerClient::beat : &WorkerClient::complete);
  }
  const std::int64_t pause_ms = between(1, std::max<std::int64_t>(lease_ms_ / 2, 1));
  if (beats_left_-- > 0) return later(pause_ms, &WorkerClient::beat);
  if (calm()) return later(pause_ms, &WorkerClient::complete);
  switch (environment_.random.below(10)) {
    case 0:
      return later(pause_ms, &WorkerClient::defer);
    case 1:
      return later(pause_ms, &WorkerClient::set_external_ref);
    case 2:
      return later(pause_ms, &WorkerClient::request_approval);
    default:
      return later(pause_ms, &WorkerClient::complete);
  }
}

bool WorkerClient::keeps(const Reply& reply) {
  expect_code(reply, {"STALE_TOKEN", "RUN_TERMINAL", "STATION_ORDER", "STATION_ALREADY_SUCCEEDED",
                      "STATION_NOT_CLAIMED"});
  if (reply.code.empty()) return true;
  later(between(0, 200), &WorkerClient::claim);
  return false;
}

void WorkerClient::beat() {
  json::object params = held();
  if (one_in(4)) params["lease_ms"] = between(100, 4000);
  // Sometimes there is no progress since the last heartbeat, which the service may take for a
  // stall.
  if (!is_stuck_ && one_in(2)) ++progress_;
  if (is_stuck_ || one_in(2)) params["progress_digest"] = std::to_string(progress_);
  ask("station.heartbeat", params, worker_patience_ms, &WorkerClient::on_beat);
}

void WorkerClient::on_beat(const Reply& reply) {
  if (!keeps(reply)) return;
  lease_ms_ = reply.result.at("lease_ms").to_number<std::int64_t>();
  work();
}

void WorkerClient::set_external_ref() {
  json::object params = held();
  params["external_ref"] = "ref-" + std::to_string(token_);
  ask("station.set_external_ref", params, worker_patience_ms, &WorkerClient::on_ref_set);
}

void WorkerClient::on_ref_set(const Reply& reply) {
  if (keeps(reply)) work();
}

void WorkerClient::request_approval() {
  json::object params = held();
  params["question"] = "may " + name() + " go on?";
  ask("station.request_approval", params, worker_patience_ms, &WorkerClient::on_requested);
}

// It doesn't wait for the decision, which may come before or after the end of its work.
void WorkerClient::on_requested(const Reply& reply) {
  if (!keeps(reply)) return;
  beats_left_ = between(0, 5);
  work();
}

void WorkerClient::defer() {
  json::object params = held();
  params["delay_ms"] = between(0, 4000);
  ask("station.defer", params, worker_patience_ms, &WorkerClient::on_deferred);
}

void WorkerClient::on_deferred(const Reply& reply) {
  if (keeps(reply)) later(10, &WorkerClient::claim);
}

void WorkerClient::complete() {
  json::object params = held();
  params["outcome"] = "succeeded";
  params["summary"] = "done by " + name();
  if (const Usage usage = any_usage(environment_.random); usage != Usage{}) {
    params["usage"] = to_json(usage);
  }
  if (environment_.faults.strikes(Fault::quota_hit)) {
    params["outcome"] = "failed";
    params["error_class"] = "quota";
    params["error_code"] = "USAGE_LIMIT";
    params["quota_reset_at"] = format_time(any_quota_reset_ns(environment_.random, wall_ns()));
  } else if (!calm() && one_in(4)) {
    constexpr std::array outcomes{"failed", "failed", "failed", "timeout", "canceled"};
    constexpr std::array classes{"transient", "transient", "quota", "lost", "terminal", "config"};
    params["outcome"] = environment_.random.any_of(outcomes);
    params["error_class"] = environment_.random.any_of(classes);
    params["error_code"] = "AS_CHANCE_HAD_IT";
  }
  if (one_in(3)) params["claim_next"] = true;
  ask("station.complete", params, worker_patience_ms, &WorkerClient::on_completed);
}

void WorkerClient::on_completed(const Reply& reply) {
  if (!keeps(reply)) return;
  if (const json::value* claim = reply.result.if_contains("claim")) {
    lock_token_ = 0;
    return take(claim->as_object());
  }
  later(between(0, 300), &WorkerClient::claim);
}

}  // namespace signalbox::simulation
