// `station.*`: the commands of outside workers. The service's own executors use the same decisions.

#include <boost/json/serialize.hpp>

#include "domain/limits.h"
#include "domain/refusals.h"
#include "domain/try.h"
#include "server/engine/engine.h"
#include "server/platform/artifact_store.h"
#include "server/platform/clock.h"
#include "server/rpc/artifact_work.h"
#include "server/rpc/claim_queue.h"
#include "server/rpc/command_call.h"
#include "server/rpc/due_leases.h"
#include "server/rpc/late_usage.h"
#include "server/rpc/methods/families.h"
#include "server/rpc/results.h"
#include "server/scheduler/job_ownership.h"

namespace signalbox {
namespace {

namespace json = boost::json;

void claim(Api& api, Call& call, ClaimQueue& claims) {
  auto command = from_json<ClaimStation>(call.params);
  if (!command) return call.responder.reject(command.error());
  if (claims.is_overtaken_by(*command)) claims.serve(api.clock.monotonic_ns());
  if (answered_before(api, call, claim_result)) return;
  const std::int64_t wait_ms = command->wait_ms.value_or(0);
  if (auto ok = require_between("wait_ms", wait_ms, 0, limits::claim_wait_ms_max); !ok) {
    return call.responder.reject(ok.error());
  }
  command->span_id = api.ids.next_span_id();
  expire_due_lock(api, command->lock_token);
  Decided<json::object> outcome;
  {
    auto transaction = api.engine.begin(call.origin);
    const auto applied = transaction.apply(*command);
    if (!applied) {
      outcome = tl::unexpected(with_ended_run(api, applied.error()));
    } else if (*applied == 0 && wait_ms > 0) {
      const auto waiting = claims.wait(std::move(*command), call.origin, call.responder,
                                       api.clock.monotonic_ns() + wait_ms * 1'000'000);
      if (waiting) return;
      outcome = tl::unexpected(waiting.error());
    } else {
      outcome = claim_result(api, transaction.records());
    }
  }
  call.responder.answer(std::move(outcome));
}

LateUsage late_usage_of(const CompleteStation& command, const Origin& origin) {
  return {command.run_id, ClaimedAttempt{command.station, command.token},
          command.usage.value_or(Usage{}), origin.without_command()};
}

void apply_complete(Api& api, Call& call, ClaimQueue& claims, CompleteStation& command) {
  const bool claim_next = command.claim_next.value_or(false);
  ClaimStation next;
  next.stations = std::move(command.stations);
  next.lease_ms = command.lease_ms;
  if (claim_next && claims.is_overtaken_by(next)) claims.serve(api.clock.monotonic_ns());
  if (answered_before(api, call, complete_result)) return;
  if (const Run* run = api.engine.world().find_run(command.run_id);
      run != nullptr && run->attempt) {
    expire_due_lock(api, run->attempt->lock_token);
  }
  // A refusal changes nothing, but what the attempt has used up is spent.
  const LateUsage late = late_usage_of(command, call.origin);
  bool is_overtaken = false;
  Decided<std::string> outcome;
  {
    auto transaction = api.engine.begin(std::move(call.origin));
    const Run* run = api.engine.world().find_run(command.run_id);
    next.worker = run != nullptr && run->attempt ? run->attempt->worker : std::string();
    const auto applied = transaction.apply(std::move(command));
    if (applied) {
      // Whoever has waited for the station that is ready now gets it after this commit. If no
      // station is ready or the claim is rejected, the completion stands without a claim.
      is_overtaken = claim_next && claims.is_overtaken_by(next);
      if (claim_next && !is_overtaken) {
        next.span_id = api.ids.next_span_id();
        (void)transaction.apply(std::move(next));
      }
      outcome = complete_text(api, transaction.records());
    } else {
      outcome = tl::unexpected(with_ended_run(api, applied.error()));
    }
  }
  if (outcome) {
    call.responder.result_text(std::move(*outcome), api.engine.world().position);
  } else {
    reject_with_usage(api, call.responder, std::move(outcome).error(), late);
  }
  if (is_overtaken) claims.serve(api.clock.monotonic_ns());
}

// Stores the artifacts that came with the request, on a thread that may block, before the event
// that names them is decided.
void store_artifacts(Api& api, Call& call, ClaimQueue& claims, CompleteStation command) {
  const auto refuse = [responder = call.responder](const Rejection& why) { responder.reject(why); };
  const std::string lane = "artifacts of run " + to_string(command.run_id);
  run_artifact_work(
      api, call.origin.actor, lane, refuse,
      [&api, &claims, refuse, call = Call{{}, call.origin, call.responder},
       command = std::move(command)]() mutable -> std::function<void()> {
        for (InlineArtifact& artifact : command.artifacts) {
          auto stored = api.artifacts.put(artifact.name,
                                          artifact.media_type.value_or("application/octet-stream"),
                                          artifact.content);
          if (!stored) {
            return
                [refuse, why = unstored_artifact(artifact.name, stored.error())] { refuse(why); };
          }
          command.stored_artifacts.push_back(std::move(*stored));
        }
        return [&api, &claims, call = std::move(call), command = std::move(command)]() mutable {
          apply_complete(api, call, claims, command);
        };
      });
}

Decided<void> check_artifacts(const CompleteStation& command) {
  if (command.artifacts.size() > limits::artifacts_max) {
    return reject(ErrorCode::LIMIT_EXCEEDED, "too many artifacts",
                  {{"artifacts_max", static_cast<std::int64_t>(limits::artifacts_max)}});
  }
  for (const InlineArtifact& artifact : command.artifacts) {
    // A request over HTTP can't name any other.
    TRY(require_known_line("artifacts.name", artifact.name, limits::name_bytes_max));
    if (artifact.media_type == bundle_media_type) {
      return reject(ErrorCode::INVALID_PARAMS,
                    "artifact " + artifact.name + " has a media_type that is reserved: give that " +
                        "of its content, such as application/x-tar",
                    {{"field", std::string("artifacts.media_type")}});
    }
    if (artifact.content.size() > limits::artifact_inline_bytes_max) {
      return reject(ErrorCode::LIMIT_EXCEEDED, "artifact " + artifact.name + " is too large",
                    {{"bytes", static_cast<std::int64_t>(artifact.content.size())},
                     {"artifact_inline_bytes_max",
                      static_cast<std::int64_t>(limits::artifact_inline_bytes_max)}});
    }
  }
  return {};
}

void complete(Api& api, Call& call, ClaimQueue& claims) {
  if (json::value* metadata = call.params.if_contains("metadata")) {
    if (!metadata->is_object()) {
      return call.responder.reject({ErrorCode::INVALID_PARAMS,
                                    "metadata must be an object",
                                    {{"field", std::string("metadata")}},
                                    {}});
    }
    *metadata = json::serialize(*metadata);
  }
  auto command = from_json<CompleteStation>(call.params);
  if (!command) return call.responder.reject(command.error());
  if (auto ok = check_artifacts(*command); !ok) return call.responder.reject(ok.error());
  if (command->artifacts.empty()) return apply_complete(api, call, claims, *command);
  store_artifacts(api, call, claims, std::move(*command));
}

// One with a command id is recorded: a repetition gets the answer of its record.
void heartbeat_station(Api& api, Call& call) {
  const auto command = from_json<HeartbeatStation>(call.params);
  if (!command) return call.responder.reject(command.error());
  const World& world = api.engine.world();
  const bool may_be_quiet = api.renew_lease != nullptr && call.origin.command_id.empty() &&
                            is_mere_renewal(world, *command) &&
                            api.engine.takes(call.origin, *command);
  if (may_be_quiet && api.renew_lease(*world.find_run(command->run_id))) {
    const std::int64_t lease_ms = world.find_run(command->run_id)->attempt->lease_ms;
    return call.responder.answer(renewal_result(api, lease_ms));
  }
  apply_command(api, call, *command, heartbeat_result);
}

void settle(Api& api, Call& call) {
  auto command = from_json<SettleStation>(call.params);
  if (!command) return call.responder.reject(command.error());
  const Run* const run = api.engine.world().find_run(command->run_id);
  if (api.ownership && run != nullptr && run->attempt) {
    command->machine = api.ownership->machine();
    command->has_directory = api.ownership->has_directory(*run);
  }
  apply_command(api, call, *command, complete_result);
}

}  // namespace

std::vector<Method> station_methods(ClaimQueue& claims) {
  return {
      {"station.claim", true, Role::worker, params_of<ClaimStation>(), with(claims, claim)},
      {"station.heartbeat", true, Role::worker, params_of<HeartbeatStation>(), heartbeat_station},
      {"station.set_external_ref", true, Role::worker, params_of<SetExternalRef>(),
       handle_command<SetExternalRef, external_ref_result>},
      {"station.complete", true, Role::worker, params_of<CompleteStation>(),
       with(claims, complete)},
      {"station.defer", true, Role::worker, params_of<DeferStation>(),
       handle_command<DeferStation, defer_result>},
      {"station.request_approval", true, Role::worker, params_of<RequestApproval>(),
       handle_command<RequestApproval, approval_result>},
      {"station.settle", true, Role::operator_, params_of<SettleStation>(), settle},
  };
}

}  // namespace signalbox
