#include "server/rpc/methods/started_repository.h"

#include <algorithm>
#include <utility>

#include "domain/placement.h"
#include "domain/refusals.h"
#include "server/limits.h"
#include "server/platform/clock.h"
#include "server/rpc/api.h"
#include "server/rpc/methods/families.h"
#include "server/runners/runner_registry.h"

namespace signalbox {
namespace {

bool is_offered(const RunnerParts& runners, std::int64_t monotonic_ns, const std::string& path) {
  if (runners.registry == nullptr) return false;
  const auto all = runners.registry->list(monotonic_ns);
  return std::any_of(all.begin(), all.end(), [&path](const RunnerView& each) {
    return std::find(each.repositories.begin(), each.repositories.end(), path) !=
           each.repositories.end();
  });
}

bool needs_check(Api& api, const RunnerParts& runners, const StartRun& command) {
  if (!command.repository || !command.pipeline) return false;
  if (!require_absolute("repository", command.repository)) return false;
  bool has_jobs = false;
  for (const StationDefinition& station : command.pipeline->stations) {
    if (!labels_of(station).empty()) return false;
    has_jobs = has_jobs || has_job(station);
  }
  return has_jobs && !is_offered(runners, api.clock.monotonic_ns(), *command.repository);
}

Rejection no_directory(const std::string& path) {
  return {ErrorCode::INVALID_PARAMS,
          "there is no directory " + path +
              " on the service's machine, and no runner offers it; nothing was started: name the "
              "root of a repository there, mount its disk, or start a runner with --repository " +
              path + "=HERE",
          {{"field", std::string("repository")}, {"repository", path}},
          {"signalbox runner list", "signalbox run start --help"}};
}

}  // namespace

void with_repository(Api& api, const RunnerParts& runners, const IsMissing& is_missing,
                     const StartRun& command, std::function<void()> then,
                     std::function<void(const Rejection&)> refused) {
  if (!needs_check(api, runners, command)) return then();
  const std::string path = *command.repository;
  Lane lane{.name = "check of " + path, .path = path, .deadline_ms = limits::project_put_ms_max};
  lane.failed = [then](LaneFailure) { then(); };
  api.repositories.run(std::move(lane),
                       [path, look = is_missing, then = std::move(then),
                        refused = std::move(refused)]() mutable -> std::function<void()> {
                         return [path, is_missing = look(path), then = std::move(then),
                                 refused = std::move(refused)] {
                           if (is_missing) return refused(no_directory(path));
                           then();
                         };
                       });
}

}  // namespace signalbox
