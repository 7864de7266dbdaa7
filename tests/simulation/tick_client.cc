#include "tests/simulation/tick_client.h"

#include <algorithm>

namespace signalbox::simulation {
namespace {

namespace json = boost::json;

constexpr std::int64_t tick_patience_ms = 700;
// Age up to which the tick of a marker that the log doesn't know may be under way.
constexpr std::int64_t marker_fresh_ms_max = 5 * 60 * 1000;

Token token_in(const json::object& details) {
  const json::value* token = details.if_contains("token");
  return token == nullptr ? 0 : token->to_number<Token>();
}

}  // namespace

void TickClient::begin_tick() {
  if (rested_) return;
  json::object params{{"loop", loop_}, {"stage", "work"}, {"lease_ms", between(200, 4000)}};
  run_root_ = "/roots/" + loop_;
  lock_token_ = 0;
  if (!calm() && one_in(10) && !context_.run_ids.empty()) {
    params["run_id"] = environment_.random.any_of(context_.run_ids);
    run_root_.clear();
  } else {
    params["run_root"] = run_root_;
  }
  if (!calm() && one_in(4)) lock_token_ = context_.held_locks.any_token();
  if (lock_token_ != 0) params["lock_token"] = lock_token_;
  ended_when_asked_ = context_.ended_ticks[loop_];
  ask("tick.begin", params, tick_patience_ms, &TickClient::on_begun);
}

// T3 T4: a begin is refused only because of a tick without an end, or a marker that was there.
void TickClient::expect_not_ended(const Reply& refusal) {
  // A10: a tick of another loop that works in the same run root counts as well.
  const json::value* loop = refusal.details.if_contains("loop");
  if (loop != nullptr && loop->as_string() != loop_) return;
  const Token token = token_in(refusal.details);
  const json::value* evidence = refusal.details.if_contains("evidence");
  const bool by_marker = token == 0 && (evidence == nullptr || evidence->as_string() != "halted");
  environment_.expect(token == 0 || token > ended_when_asked_,
                      "tick " + std::to_string(token) + " of " + loop_ +
                          " had ended, and a begin was refused because of it: " + refusal.code);
  if (!by_marker) return;
  if (refusal.code == "TICK_IN_PROGRESS") {
    const json::value* age_ms = refusal.details.if_contains("marker_age_ms");
    const bool is_known = age_ms != nullptr && age_ms->is_number();
    environment_.expect(
        is_known && age_ms->to_number<std::int64_t>() < marker_fresh_ms_max,
        "a begin of " + loop_ + " was refused because of a marker that isn't fresh");
  }
  const json::value* path = refusal.details.if_contains("marker_path");
  environment_.expect(
      path != nullptr && context_.files.had_foreign(std::string(path->as_string()), asked_at_ns_),
      "a begin of " + loop_ + " was refused because of a marker that wasn't there");
}

void TickClient::on_begun(const Reply& reply) {
  expect_code(reply, {"TICK_IN_PROGRESS", "PREVIOUS_TICK_INCOMPLETE", "RUN_TERMINAL", "LOCK_LOST"});
  if (reply.code == "LOCK_LOST") {
    environment_.expect(
        lock_token_ != 0 && !context_.held_locks.is_relied_on(lock_token_),
        "a begin was refused for lock token " + std::to_string(lock_token_) + ", which is held");
  }
  if (reply.code == "TICK_IN_PROGRESS" || reply.code == "PREVIOUS_TICK_INCOMPLETE") {
    expect_not_ended(reply);
  }
  if (reply.code == "PREVIOUS_TICK_INCOMPLETE") {
    halted_loop_ = std::string(reply.details.at("loop").as_string());
    return later(between(50, 1000), &TickClient::recover);
  }
  if (!reply.code.empty()) return later(between(100, 1500), &TickClient::begin_tick);
  token_ = reply.result.at("token").to_number<Token>();
  if (environment_.faults.strikes(Fault::zombie)) {
    return later(between(4000, 9000), &TickClient::end_tick);
  }
  later(between(5, calm() ? 100 : 2000), &TickClient::end_tick);
}

void TickClient::end_tick() {
  json::object params{{"loop", loop_}, {"token", token_}, {"outcome", "succeeded"}};
  if (!calm() && environment_.random.per_cent(40)) {
    params["outcome"] = "failed";
    params["error"] = "as chance had it";
  }
  ask("tick.end", params, tick_patience_ms, &TickClient::on_ended);
}

void TickClient::on_ended(const Reply& reply) {
  expect_code(reply, {"STALE_TOKEN"});  // the tick took too long, or its lock was lost
  if (reply.code.empty()) {
    Token& ended = context_.ended_ticks[loop_];
    ended = std::max(ended, token_);
    rested_ = calm();
  }
  later(between(100, 3000), &TickClient::begin_tick);
}

void TickClient::recover() {
  ask("tick.recover", {{"loop", halted_loop_}, {"reason", "looked after it"}}, tick_patience_ms,
      &TickClient::on_recovered);
}

void TickClient::on_recovered(const Reply& reply) {
  expect_code(reply, {"TICK_IN_PROGRESS"});
  later(between(10, 500), &TickClient::begin_tick);
}

}  // namespace signalbox::simulation
