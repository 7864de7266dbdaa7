// `run.rebuild_artifacts`: rebuilds the files of a run's root from the log.
#include <memory>

#include "server/engine/engine.h"
#include "server/followers/run_root/run_root_rebuild.h"
#include "server/followers/run_root/run_root_writer.h"
#include "server/rpc/command_call.h"
#include "server/rpc/method.h"
#include "server/rpc/methods/families.h"
#include "server/text/described_json.h"
#include "store/event_log.h"
#include "store/sha256.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct RebuildArtifacts {
  RunId run_id{};
  bool check = false;
};
BOOST_DESCRIBE_STRUCT(RebuildArtifacts, (), (run_id, check))

const char* name_of(RebuiltFile::Found found) {
  switch (found) {
    case RebuiltFile::Found::same:
      return "same";
    case RebuiltFile::Found::missing:
      return "missing";
    case RebuiltFile::Found::different:
      return "different";
  }
  return "?";
}

Rejection refusal(const RunId& run_id, const StoreError& error) {
  if (error.kind == StoreError::Kind::not_found) {
    return {ErrorCode::RUN_NOT_FOUND,
            error.message,
            {{"run_id", to_string(run_id)}},
            {"signalbox run list"}};
  }
  if (error.kind == StoreError::Kind::dropped) {
    return {ErrorCode::HISTORY_DROPPED,
            "some of what the run's files are made from was archived and dropped: " + error.message,
            {{"run_id", to_string(run_id)}},
            {"signalbox events --run " + to_string(run_id)}};
  }
  return {ErrorCode::STORAGE_DAMAGED, error.message, {}, {"signalbox replay --verify"}};
}

json::object rebuild_result(const RebuildArtifacts& params, const RunRootRebuild& rebuild,
                            const RunRootRule* rule) {
  json::array files;
  for (const RebuiltFile& file : rebuild.finish(/*write=*/!params.check, rule)) {
    json::object object;
    object["path"] = file.path;
    object["bytes"] = file.bytes.size();
    object["sha256"] = to_hex(sha256(file.bytes));
    object["found"] = name_of(file.found);
    if (!file.error.empty()) object["error"] = file.error;
    files.push_back(std::move(object));
  }
  json::object result;
  result["run_id"] = to_string(params.run_id);
  result["run_root"] = rebuild.root();
  result["files"] = std::move(files);
  return result;
}

// Reads most of the log on a thread that may block. The rest is read, and the files are written, on
// the run root writer's own thread, so that older content never replaces newer.
void rebuild(Api& api, Call& call, RunRootWriter& run_roots) {
  const auto params = from_json<RebuildArtifacts>(call.params);
  if (!params) return call.responder.reject(params.error());
  const auto answer = [&api, responder = call.responder](Decided<json::object> outcome) {
    api.post([responder, outcome = std::move(outcome)] { responder.answer(outcome); });
  };
  const Position position = api.engine.durable_position();
  api.log_readers.run(
      {.name = "rebuild of artifacts"},
      [&api, &run_roots, params = *params, position, answer]() -> std::function<void()> {
        const bool removed = api.are_files_removed && api.are_files_removed(params.run_id);
        const auto work =
            std::make_shared<RunRootRebuild>(api.log, run_roots.run_files(), params.run_id);
        const auto advanced = work->advance(position);
        if (!advanced) {
          return [answer, refused = refusal(params.run_id, advanced.error())] {
            answer(tl::unexpected(refused));
          };
        }
        run_roots.when_writing(
            position, [&run_roots, params, answer, work, removed](Position written) {
              if (auto rest = work->advance(written); !rest) {
                return answer(tl::unexpected(refusal(params.run_id, rest.error())));
              }
              const auto result = std::make_shared<json::object>();
              const auto rebuilt = run_roots.write_in_lane(
                  work->root(), [params, work, result, rule = run_roots.rule()] {
                    *result = rebuild_result(params, *work, rule);
                    return Stored<void>();
                  });
              if (!rebuilt) return answer(tl::unexpected(run_root_hangs(work->root())));
              if (removed) (*result)["files_removed"] = true;
              answer(std::move(*result));
            });
        return [] {};
      });
}

}  // namespace

Handler rebuild_run_roots(RunRootWriter& run_roots) { return with(run_roots, rebuild); }

void refuse_rebuild(Api&, Call& call) {
  const auto params = from_json<RebuildArtifacts>(call.params);
  if (!params) return call.responder.reject(params.error());
  call.responder.reject({ErrorCode::INTERNAL, "nothing writes run roots here", {}, {}});
}

std::vector<Method> artifact_methods(Handler rebuild_artifacts) {
  return {{"run.rebuild_artifacts", false, Role::operator_, params_of<RebuildArtifacts>(),
           std::move(rebuild_artifacts)}};
}

}  // namespace signalbox
