#include "server/rpc/run_root_call.h"

#include <utility>
#include <vector>

#include "domain/refusals.h"
#include "server/engine/engine.h"
#include "server/followers/run_root/run_root_place.h"
#include "server/followers/run_root/run_root_state.h"
#include "server/limits.h"
#include "server/rpc/command_call.h"

namespace signalbox {
namespace {

using Then = std::function<void(Api& api, Call& call)>;

// Returns the open run whose root this is; nullptr if there is none.
const Run* run_of_root(const World& world, const RunRootRule& rule, const std::string& run_root) {
  const std::filesystem::path runs = rule.data() / "runs";
  const std::filesystem::path path(run_root);
  if (path.parent_path() == runs) {
    const auto run_id = parse_uuid(path.filename().string());
    return run_id ? world.find_run(*run_id) : nullptr;
  }
  for (const auto& [id, run] : world.runs) {
    if (run->run_root == run_root) return &*run;
  }
  return nullptr;
}

// Returns the path as it is compared with others: without ".", ".." and a slash at the end.
std::string normal_path(const std::string& text) {
  const std::filesystem::path path = std::filesystem::path(text).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).string();
}

// FORBIDDEN if a job names the root of another open run than its own.
Decided<void> check_root_of_job(const World& world, const RunRootRule& rule, const Call& call,
                                const std::string& run_root) {
  if (call.role != Role::job) return {};
  const std::string named = normal_path(run_root);
  const auto is_own = [&call](const Run& run) {
    return run.attempt && run.attempt->token == call.origin.job_token;
  };
  const Run* other = run_of_root(world, rule, named);
  if (other != nullptr && is_own(*other)) return {};
  std::vector<std::string> next_commands;
  for (const auto& [id, run] : world.runs) {
    if (other == nullptr && !run->run_root.empty() && normal_path(run->run_root) == named &&
        !is_own(*run)) {
      other = &*run;
    }
    if (is_own(*run)) next_commands = {"signalbox run get " + to_string(id)};
  }
  if (other == nullptr) return {};
  return reject(ErrorCode::FORBIDDEN,
                call.origin.actor + " is a job, which has to do with its own run only: " +
                    run_root + " is the run root of run " + to_string(other->id),
                {{"actor", call.origin.actor},
                 {"role", std::string(name_of(Role::job))},
                 {"run_root", run_root},
                 {"run_id", to_string(other->id)}},
                std::move(next_commands));
}

// The disk of the root may hang, and whoever asks for another one doesn't wait for it.
void check(Api& api, const Call& call, const std::string& run_root, Role role, Then then) {
  Lane lane{.name = "run root " + run_root,
            .path = run_root,
            .deadline_ms = limits::run_root_read_ms_max};
  lane.failed = [run_root, responder = call.responder](LaneFailure) {
    responder.reject(run_root_hangs(run_root));
  };
  api.blocking.run(std::move(lane),
                   [&api, call = Call{{}, call.origin, call.responder, call.role}, run_root, role,
                    then = std::move(then)]() mutable -> std::function<void()> {
                     return
                         [&api, call = std::move(call), then = std::move(then),
                          checked = check_run_root(*api.run_root_rule, run_root, role)]() mutable {
                           if (!checked) return call.responder.reject(checked.error());
                           then(api, call);
                         };
                   });
}

bool needs_check(const Api& api, const std::optional<std::string>& run_root) {
  return api.run_root_rule != nullptr && run_root && require_absolute("run_root", run_root);
}

}  // namespace

void with_run_root(Api& api, const Call& call, const std::optional<std::string>& run_root,
                   Then then) {
  Call bare{{}, call.origin, call.responder, call.role};
  if (!needs_check(api, run_root)) return then(api, bare);
  check(api, call, *run_root, call.role, std::move(then));
}

std::optional<RunId> run_of_directory(const Api& api, const std::string& run_root) {
  if (api.run_root_rule == nullptr) return std::nullopt;
  const std::filesystem::path normal = std::filesystem::path(run_root).lexically_normal();
  const std::filesystem::path path = normal.has_filename() ? normal : normal.parent_path();
  const std::filesystem::path runs = (api.run_root_rule->data() / "runs").lexically_normal();
  if (path.parent_path() != runs) return std::nullopt;
  return parse_uuid(path.filename().string());
}

void with_run_root_of_run(Api& api, const Call& call, const std::optional<std::string>& run_root,
                          Then then) {
  Call bare{{}, call.origin, call.responder, call.role};
  if (!needs_check(api, run_root)) return then(api, bare);
  const World& world = api.engine.world();
  const RunRootRule& rule = *api.run_root_rule;
  if (const auto own = check_root_of_job(world, rule, call, *run_root); !own) {
    return bare.responder.reject(own.error());
  }
  const bool is_trusted =
      may(call.role, Role::admin) || run_of_root(world, rule, *run_root) != nullptr;
  check(api, call, *run_root, is_trusted ? Role::admin : call.role, std::move(then));
}

}  // namespace signalbox
