#include "server/rpc/methods/started_repository.h"

#include <algorithm>
#include <optional>
#include <string>
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

Rejection no_repository(const std::string& path, const std::string& root) {
  Rejection rejection{ErrorCode::INVALID_PARAMS,
                      path + " isn't the root of a git repository, and nothing was started: ",
                      {{"field", std::string("repository")}, {"repository", path}},
                      {}};
  if (root.empty()) {
    rejection.message += "name one that is, or make it one, with a commit";
    const std::string git = "git -C " + shell_word(path);
    rejection.next_commands = {git + " init", git + " commit --allow-empty -m start"};
    return rejection;
  }
  rejection.message += "it lies in the one at " + root + "; name that";
  rejection.details.push_back({"root", root});
  rejection.next_commands = {"git -C " + shell_word(path) + " rev-parse --show-toplevel"};
  return rejection;
}

bool has_intake(const PipelineDefinition& pipeline) {
  return std::ranges::any_of(pipeline.stations, [](const StationDefinition& station) {
    return builtin_of(station) == BuiltinStation::intake;
  });
}

// Returns why a run with this pipeline isn't started; nullopt if it is.
std::optional<Rejection> refusal_of(const std::optional<RepositoryFault>& fault,
                                    const std::string& path, bool needs_git) {
  if (!fault) return std::nullopt;
  if (fault->is_missing) return no_directory(path);
  if (!needs_git) return std::nullopt;
  return no_repository(path, fault->root);
}

}  // namespace

void with_repository(Api& api, const RunnerParts& runners, const FindRepositoryFault& find_fault,
                     const StartRun& command, std::function<void()> then,
                     std::function<void(const Rejection&)> refused) {
  if (!needs_check(api, runners, command)) return then();
  const std::string path = *command.repository;
  Lane lane{.name = "check of " + path, .path = path, .deadline_ms = limits::project_put_ms_max};
  lane.failed = [then](LaneFailure) { then(); };
  api.repositories.run(
      std::move(lane),
      [path, find_fault, needs_git = has_intake(*command.pipeline), then = std::move(then),
       refused = std::move(refused)]() mutable -> std::function<void()> {
        return [why = refusal_of(find_fault(path), path, needs_git), then = std::move(then),
                refused = std::move(refused)] {
          if (why) return refused(*why);
          then();
        };
      });
}

}  // namespace signalbox
