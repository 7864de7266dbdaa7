#include "tests/simulation/worker_client.h"

#include <algorithm>
#include <array>

namespace signalbox::simulation {
namespace {

namespace json = boost::json;

constexpr std::int64_t patience_ms = 700;

}  // namespace

void WorkerClient::later(std::int64_t delay_ms, Step step) {
  environment_.schedule.after(delay_ms * ns_per_ms, outside, [this, step, life = life_] {
    if (life != life_) return;
    if (environment_.faults.strikes(Fault::worker_restart)) {
      environment_.note(caller_.name() + " dies");
      ++life_;
      caller_.forget();
      return later(environment_.random.between(10, 3000), &WorkerClient::claim);
    }
    if (environment_.random.one_in(20)) caller_.repeat_last();
    (this->*step)();
  });
}

json::object WorkerClient::held() const {
  return {{"run_id", run_id_}, {"station", station_}, {"token", token_}};
}

void WorkerClient::claim() {
  const std::int64_t wait_ms = environment_.random.between(0, 3) * 1000;
  json::object params{{"worker", caller_.name()}, {"wait_ms", wait_ms}};
  if (environment_.random.one_in(3)) params["lease_ms"] = environment_.random.between(100, 4000);
  if (environment_.random.one_in(8)) params["stations"] = json::array{"implement", "work"};
  caller_.ask("station.claim", params, wait_ms + patience_ms, [this](const Reply& reply) {
    if (reply.code.empty() && !reply.result.at("claim").is_null()) {
      return take(reply.result.at("claim").as_object());
    }
    environment_.expect(reply.code.empty() || reply.code == "GAVE_UP",
                        "a claim was refused: " + reply.code);
    later(environment_.random.between(50, 500), &WorkerClient::claim);
  });
}

void WorkerClient::take(const json::object& claim) {
  run_id_ = claim.at("run_id").as_string();
  station_ = claim.at("station").as_string();
  token_ = claim.at("token").to_number<Token>();
  lease_ms_ = claim.at("lease_ms").to_number<std::int64_t>();
  beats_left_ = environment_.random.between(0, 5);
  work();
}

void WorkerClient::work() {
  if (environment_.faults.strikes(Fault::worker_zombie)) {
    environment_.note(caller_.name() + " stops for a while");
    const Step step = environment_.random.one_in(2) ? &WorkerClient::beat : &WorkerClient::complete;
    return later(lease_ms_ * environment_.random.between(1, 4) + 50, step);
  }
  const std::int64_t pause_ms =
      environment_.random.between(1, std::max<std::int64_t>(lease_ms_ / 2, 1));
  if (beats_left_-- > 0) return later(pause_ms, &WorkerClient::beat);
  if (environment_.faults.stopped()) return later(pause_ms, &WorkerClient::complete);
  switch (environment_.random.below(10)) {
    case 0:
      return later(pause_ms, &WorkerClient::defer);
    case 1:
      return later(pause_ms, &WorkerClient::set_external_ref);
    default:
      return later(pause_ms, &WorkerClient::complete);
  }
}

void WorkerClient::lose(const std::string& code) {
  constexpr std::array expected{"GAVE_UP",
                                "STALE_TOKEN",
                                "RUN_TERMINAL",
                                "STATION_ORDER",
                                "STATION_ALREADY_SUCCEEDED",
                                "STATION_NOT_CLAIMED"};
  environment_.expect(std::find(expected.begin(), expected.end(), code) != expected.end(),
                      "a word of a holder was refused: " + code);
  later(environment_.random.between(0, 200), &WorkerClient::claim);
}

void WorkerClient::beat() {
  json::object params = held();
  if (environment_.random.one_in(4)) params["lease_ms"] = environment_.random.between(100, 4000);
  // Now and then no progress since the last word, which the service may take for a stall.
  if (environment_.random.one_in(2)) ++progress_;
  if (environment_.random.one_in(2)) params["progress_digest"] = std::to_string(progress_);
  caller_.ask("station.heartbeat", params, patience_ms, [this](const Reply& reply) {
    if (!reply.code.empty()) return lose(reply.code);
    lease_ms_ = reply.result.at("lease_ms").to_number<std::int64_t>();
    work();
  });
}

void WorkerClient::set_external_ref() {
  json::object params = held();
  params["external_ref"] = "ref-" + std::to_string(token_);
  caller_.ask("station.set_external_ref", params, patience_ms, [this](const Reply& reply) {
    if (!reply.code.empty()) return lose(reply.code);
    work();
  });
}

void WorkerClient::defer() {
  json::object params = held();
  params["delay_ms"] = environment_.random.between(0, 4000);
  caller_.ask("station.defer", params, patience_ms, [this](const Reply& reply) {
    if (!reply.code.empty()) return lose(reply.code);
    later(10, &WorkerClient::claim);
  });
}

void WorkerClient::complete() {
  json::object params = held();
  params["outcome"] = "succeeded";
  params["summary"] = "done by " + caller_.name();
  if (!environment_.faults.stopped() && environment_.random.one_in(4)) {
    constexpr std::array outcomes{"failed", "failed", "failed", "timeout", "canceled"};
    constexpr std::array classes{"transient", "transient", "quota", "lost", "terminal", "config"};
    params["outcome"] = environment_.random.any_of(outcomes);
    params["error_class"] = environment_.random.any_of(classes);
    params["error_code"] = "AS_CHANCE_HAD_IT";
  }
  if (environment_.random.one_in(3)) params["claim_next"] = true;
  caller_.ask("station.complete", params, patience_ms, [this](const Reply& reply) {
    if (!reply.code.empty()) return lose(reply.code);
    if (const json::value* claim = reply.result.if_contains("claim")) {
      return take(claim->as_object());
    }
    later(environment_.random.between(0, 300), &WorkerClient::claim);
  });
}

}  // namespace signalbox::simulation
