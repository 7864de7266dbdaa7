// `run.*`: starts, shows, lists, pauses, resumes and cancels runs. run_methods.h declares the
// methods of runs that are in other files.
#include <boost/json/serialize.hpp>

#include "domain/limits.h"
#include "domain/refusals.h"
#include "domain/station_turn.h"
#include "domain/try.h"
#include "server/engine/dropped_history.h"
#include "server/engine/engine.h"
#include "server/followers/projector.h"
#include "server/platform/clock.h"
#include "server/rpc/artifact_work.h"
#include "server/rpc/command_call.h"
#include "server/rpc/known_pipeline.h"
#include "server/rpc/methods/families.h"
#include "server/rpc/methods/run_methods.h"
#include "server/rpc/methods/run_views.h"
#include "server/rpc/methods/short_ids.h"
#include "server/rpc/methods/started_repository.h"
#include "server/rpc/read_models.h"
#include "server/rpc/request.h"
#include "server/rpc/results.h"
#include "server/rpc/run_root_call.h"
#include "store/codec.h"

namespace signalbox {
namespace {

namespace json = boost::json;

json::object replayed(const RunId& run_id, const char* status) {
  json::object result;
  result["run_id"] = to_string(run_id);
  result["status"] = status;
  result["replayed"] = true;
  return result;
}

// The run may have been another request's: without its records nobody can tell.
Rejection key_of_dropped_run(const Api& api, const std::string& key, Position ended) {
  Rejection rejection = history_dropped(api.log, ended);
  rejection.message =
      "the idempotency key stands for a run that ended long ago, and nothing is started: " +
      rejection.message;
  rejection.details.push_back({"idempotency_key", key});
  return rejection;
}

// Returns the answer for an idempotency key whose run the world has forgotten; nullopt if there is
// no such run. The read model has the key: the world is never ahead of it by more runs than it
// remembers.
std::optional<Decided<json::object>> started_long_ago(Api& api, const StartRun& command) {
  const World& world = api.engine.world();
  if (world.run_by_idempotency_key.contains(*command.idempotency_key)) return std::nullopt;
  if (world.forgotten_keys == 0) return std::nullopt;
  // If the read model can't answer, starting could create a second run for the key: reject instead.
  if (!api.projector.wait_for(world.forgotten_keys)) {
    return tl::unexpected(read_models_behind(api));
  }
  const auto dropped = api.projector.index().dropped_run_of_key(*command.idempotency_key);
  if (!dropped) return tl::unexpected(read_models_behind(api, dropped.error()));
  if (*dropped) {
    return tl::unexpected(key_of_dropped_run(api, *command.idempotency_key, **dropped));
  }
  const auto row = api.projector.index().find_by_idempotency_key(*command.idempotency_key);
  if (!row) return tl::unexpected(read_models_behind(api, row.error()));
  if (!*row) return std::nullopt;
  if ((*row)->request_digest != command.request_digest) {
    return reject(
        ErrorCode::IDEMPOTENCY_CONFLICT,
        "the idempotency key stands for another request: run " + to_string((*row)->run_id),
        {{"idempotency_key", *command.idempotency_key}, {"run_id", to_string((*row)->run_id)}},
        {"signalbox run get " + to_string((*row)->run_id)});
  }
  return replayed((*row)->run_id, name_of((*row)->status));
}

json::object known_run(const World& world, const StartRun& command) {
  const RunId id = world.run_by_idempotency_key.find(*command.idempotency_key)->second;
  const Run* run = world.find_run(id);
  return replayed(id, name_of(run != nullptr ? run->status : world.ended_runs.find(id)->status));
}

// Fills in the figures that a budget in `params` doesn't name, from `present`.
void complete_budget(json::object& params, const Budget& present) {
  json::value* value = params.if_contains("budget");
  json::object* budget = value == nullptr ? nullptr : value->if_object();
  if (budget == nullptr) return;
  const json::value figures = to_json(present);
  for (const auto& figure : figures.get_object()) {
    budget->emplace(figure.key(), figure.value());
  }
}

Decided<StartRun> read_start(KnownPipeline& known, json::object& params) {
  Digest identity;
  if (params.contains("idempotency_key")) {
    json::object same = params;
    same.erase("idempotency_key");
    identity = request_digest("run.start", same);
  }
  const PinnedDefinition* pipeline = &known.unnamed();
  if (const json::value* tables = params.if_contains("pipeline")) {
    const auto read = TRY(known.read(*tables));
    pipeline = read;
    params.erase("pipeline");
  }
  if (json::value* input = params.if_contains("input")) *input = json::serialize(*input);
  complete_budget(params, pipeline->definition.budget);
  auto command = from_json<StartRun>(params);
  if (!command) return command;
  command->request_digest = identity;
  command->pipeline = pipeline->definition;
  command->pipeline_digest = pipeline->digest;
  return command;
}

void decide_start(Api& api, Call& call, StartRun command) {
  if (answered_before(api, call, start_result)) return;
  if (command.idempotency_key) {
    const auto named =
        require_name("idempotency_key", *command.idempotency_key, limits::name_bytes_max);
    if (!named) return call.responder.reject(named.error());
    if (auto answer = started_long_ago(api, command)) {
      return call.responder.answer(std::move(*answer));
    }
  }
  command.run_id = api.ids.next_run_id(api.clock.wall_ns());
  call.responder.answer(outcome_of(api, call.origin, command, start_result,
                                   [&] { return known_run(api.engine.world(), command); }));
}

// Returns whether the run was started before, whatever has become of its repository since.
bool is_started(const Api& api, const StartRun& command) {
  const auto& known = api.engine.world().run_by_idempotency_key;
  return command.idempotency_key && known.contains(*command.idempotency_key);
}

void start_in_repository(Api& api, const RunnerParts& runners,
                         const FindRepositoryFault& find_fault, Call& call,
                         const StartRun& command) {
  if (is_started(api, command)) return decide_start(api, call, command);
  const auto bare = std::make_shared<Call>(Call{{}, call.origin, call.responder, call.role});
  with_repository(
      api, runners, find_fault, command,
      [&api, bare, command] { decide_start(api, *bare, command); },
      [&api, bare, command](const Rejection& why) {
        if (answered_before(api, *bare, start_result)) return;
        if (is_started(api, command)) return decide_start(api, *bare, command);
        if (command.idempotency_key) {
          if (auto answer = started_long_ago(api, command)) {
            return bare->responder.answer(std::move(*answer));
          }
        }
        bare->responder.reject(why);
      });
}

void start(Api& api, const RunnerParts& runners, const FindRepositoryFault& find_fault, Call& call,
           KnownPipeline& known_pipeline) {
  auto command = read_start(known_pipeline, call.params);
  if (!command) return call.responder.reject(command.error());
  if (!command->run_root && !command->repository) {
    return decide_start(api, call, std::move(*command));
  }
  if (answered_before(api, call, start_result)) return;
  const std::optional<std::string> run_root = command->run_root;
  if (run_root) command->directory_of = run_of_directory(api, *run_root);
  with_run_root(api, call, run_root,
                [&runners, &find_fault, command = std::move(*command)](Api& again, Call& checked) {
                  start_in_repository(again, runners, find_fault, checked, command);
                });
}

void cancel(Api& api, Call& call) {
  const auto command = from_json<CancelRun>(call.params);
  if (!command) return call.responder.reject(command.error());
  const Run* run = api.engine.world().find_run(command->run_id);
  if (run != nullptr && run->cancel_requested && !is_rejected(*run)) {
    if (answered_before(api, call, cancel_result)) return;
    json::object result = replayed(run->id, name_of(run->status));
    result["cancel_requested"] = true;
    return call.responder.result(std::move(result));
  }
  apply_command(api, call, *command, cancel_result);
}

void pause(Api& api, Call& call) {
  const auto command = from_json<PauseRun>(call.params);
  if (!command) return call.responder.reject(command.error());
  const Run* run = api.engine.world().find_run(command->run_id);
  if (run != nullptr && run->status == RunStatus::paused) {
    if (answered_before(api, call, pause_result)) return;
    return call.responder.result(pause_answer(run->id, name_of(run->status), false));
  }
  apply_command(api, call, *command, pause_result);
}

void resume(Api& api, Call& call) {
  const json::value* id = call.params.if_contains("run_id");
  const auto run_id = id != nullptr && id->is_string()
                          ? parse_uuid(std::string_view(id->get_string()))
                          : std::nullopt;
  const Run* run = run_id ? api.engine.world().find_run(*run_id) : nullptr;
  complete_budget(call.params, run != nullptr ? run->budget : Budget{});
  const auto command = from_json<ResumeRun>(call.params);
  if (!command) return call.responder.reject(command.error());
  if (answered_before(api, call, resume_result)) return;
  call.responder.answer(outcome_of(api, call.origin, *command, resume_result, [&] {
    return pause_answer(command->run_id, name_of(run->status), false);
  }));
}

struct GetRun {
  RunId run_id{};
};
BOOST_DESCRIBE_STRUCT(GetRun, (), (run_id))

struct GetArtifact {
  RunId run_id{};
  std::string name;
};
BOOST_DESCRIBE_STRUCT(GetArtifact, (), (run_id, name))

void get_run(Api& api, Call& call) {
  const auto params = from_json<GetRun>(call.params);
  if (!params) return call.responder.reject(params.error());
  answer_from_read_models(api, call.responder, [&api, id = params->run_id](const RunIndex& index) {
    return run_view(api, index, id);
  });
}

void artifact(Api& api, Call& call) {
  const auto params = from_json<GetArtifact>(call.params);
  if (!params) return call.responder.reject(params.error());
  // Any other name may be that of an artifact that was recorded long ago.
  if (const auto named = require_not_empty("name", params->name, limits::name_bytes_max); !named) {
    return call.responder.reject(named.error());
  }
  // The file is read apart from the read models: it may be on a disk or in a store that hangs.
  const auto read = [&api, responder = call.responder, run_id = params->run_id](
                        const FoundArtifact& found, Position shown) {
    run_artifact_work(
        api, responder.caller(), "artifact " + to_hex(found.artifact.sha256),
        [responder](const Rejection& why) { responder.reject(why); },
        [&api, responder, run_id, found, shown]() -> std::function<void()> {
          return [responder, shown, outcome = artifact_content(api, run_id, found)]() mutable {
            responder.answer(std::move(outcome), shown);
          };
        });
  };
  query_read_models(api, call.responder, api.engine.world().position,
                    [&api, read, responder = call.responder,
                     params = *params](const RunIndex& index) -> std::function<void()> {
                      const Position shown = index.applied();
                      auto found = find_artifact(api, index, params.run_id, params.name);
                      if (!found)
                        return [responder, why = found.error()] { responder.reject(why); };
                      return [read, shown, found = *found] { read(found, shown); };
                    });
}

}  // namespace

std::vector<Method> run_methods(std::shared_ptr<KnownPipeline> known_pipeline,
                                const TraceResource& trace_resource,
                                std::shared_ptr<RunnerParts> runners,
                                FindRepositoryFault find_repository_fault) {
  return {
      {"run.start", true, Role::operator_, params_of<StartRun>(),
       [known_pipeline = std::move(known_pipeline), runners = std::move(runners),
        find_fault = std::move(find_repository_fault)](Api& api, Call& call) {
         start(api, *runners, find_fault, call, *known_pipeline);
       }},
      {"run.get", false, Role::viewer, params_of<GetRun>(), get_run},
      {"run.find", false, Role::viewer, params_of<FindId>(), find_run},
      {"run.list", false, Role::viewer, params_of<ListRuns>(), list_runs},
      {"run.cancel", true, Role::operator_, params_of<CancelRun>(), cancel},
      {"run.pause", true, Role::operator_, params_of<PauseRun>(), pause},
      {"run.resume", true, Role::operator_, params_of<ResumeRun>(), resume},
      {"run.retry", true, Role::operator_, params_of<RetryRun>(), retry_run},
      {"run.why", false, Role::viewer, params_of<GetRun>(), why_run},
      {"run.fence", false, Role::viewer, params_of<CheckFence>(), check_fence},
      {"run.trace", false, Role::viewer, params_of<TraceRun>(),
       [trace_resource](Api& api, Call& call) { trace_run(api, call, trace_resource); }},
      {"run.diff", false, Role::viewer, params_of<DiffRun>(), diff_run},
      {"run.log", false, Role::viewer, params_of<ReadRunLog>(), read_run_log},
      {"run.artifact", false, Role::viewer, params_of<GetArtifact>(), artifact},
  };
}

}  // namespace signalbox
