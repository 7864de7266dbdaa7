#include "domain/try.h"
#include "server/rpc/methods/run_methods.h"

#include "domain/refusals.h"
#include "server/engine/engine.h"
#include "server/rpc/command_call.h"

namespace signalbox {
namespace {

namespace json = boost::json;

tl::unexpected<Rejection> stale(const Run& run, const std::string& why, const char* field,
                                const std::string& value) {
  const std::string id = to_string(run.id);
  return reject(ErrorCode::STALE_TOKEN, why, {{"run_id", id}, {field, value}},
                {"signalbox run get " + id});
}

// Returns STALE_TOKEN unless the named attempt is the one under way and isn't being ended.
Decided<void> require_current(const Run& run, const CheckFence& asked) {
  if (!asked.span_id && !asked.attempt_token) return {};
  const Attempt* attempt = run.attempt ? &*run.attempt : nullptr;
  const bool is_open = attempt != nullptr && !attempt->ending;
  const bool same_span = is_open && (!asked.span_id || attempt->span_id == *asked.span_id);
  const bool same_token =
      is_open && (!asked.attempt_token || attempt->token == *asked.attempt_token);
  if (same_span && same_token) return {};
  const std::string now =
      attempt == nullptr || attempt->ending
          ? "no attempt is in progress"
          : run.definition().name + " is at attempt " + std::to_string(attempt->number);
  const bool names_span = asked.span_id && (!same_span || !asked.attempt_token);
  return stale(run, "the asking attempt has ended: " + now,
               names_span ? "span_id" : "attempt_token",
               names_span ? to_string(*asked.span_id) : std::to_string(*asked.attempt_token));
}

Decided<json::object> fence_view(const World& world, const CheckFence& asked) {
  const auto found = TRY(open_run(world, asked.run_id));
  const Run& run = *found;
  const std::string id = to_string(run.id);
  if (run.started_at != asked.token) {
    return stale(run, "run " + id + " was started at another position", "token",
                 std::to_string(asked.token));
  }
  if (run.cancel_requested) {
    return stale(run, "run " + id + " is being canceled", "token", std::to_string(asked.token));
  }
  TRY(require_current(run, asked));
  json::object result;
  result["run_id"] = id;
  result["status"] = name_of(run.status);
  result["station"] = run.definition().name;
  return result;
}

}  // namespace

void check_fence(Api& api, Call& call) {
  const auto asked = from_json<CheckFence>(call.params);
  if (!asked) return call.responder.reject(asked.error());
  auto outcome = fence_view(api.engine.world(), *asked);
  if (!outcome) outcome = tl::unexpected(with_ended_run(api, outcome.error()));
  call.responder.answer(std::move(outcome));
}

}  // namespace signalbox
