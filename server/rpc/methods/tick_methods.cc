// `tick.*` and `watchdog.*`: the ticks of loops, and the check of an attempt's timeout.
#include <algorithm>
#include <filesystem>

#include "domain/refusals.h"
#include "domain/service_loops.h"
#include "server/engine/engine.h"
#include "server/followers/run_root/tick_marker.h"
#include "server/limits.h"
#include "server/platform/clock.h"
#include "server/rpc/command_call.h"
#include "server/rpc/due_leases.h"
#include "server/rpc/methods/families.h"
#include "server/rpc/methods/tick_results.h"
#include "server/rpc/methods/watchdog_check.h"
#include "server/rpc/page_limit.h"
#include "server/rpc/read_models.h"
#include "server/rpc/run_root_call.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// Rejects with NOT_ALLOWED if the loop is the service's own, whose ticks clients may not begin or
// end. Returns true if it did.
bool refused_own_loop(const Call& call, const std::string& loop) {
  if (!is_service_loop(loop)) return false;
  call.responder.reject({ErrorCode::NOT_ALLOWED,
                         "loop " + loop + " is the service's own",
                         {{"loop", loop}},
                         {"signalbox tick list --loop " + shell_word(loop)}});
  return true;
}

// Returns true if the command names the same run root twice: by the run and by its path.
bool names_runs_own_root(const Api& api, const BeginTick& command) {
  if (!command.run_id || !command.run_root) return false;
  const Run* run = api.engine.world().find_run(*command.run_id);
  return run != nullptr && *command.run_root == run_root_of(api, run->run_root, run->id);
}

// Writes a run root in its normal form, so that loops that write one place differently have the
// same root. A path with `..` stays: after a link that leads elsewhere than it is written.
std::string normal_root(const std::string& run_root) {
  const std::filesystem::path path(run_root);
  if (std::find(path.begin(), path.end(), "..") != path.end()) return run_root;
  const std::filesystem::path normal = path.lexically_normal();
  return (normal.has_filename() ? normal : normal.parent_path()).string();
}

// Brings the command into the form in which all loops name the same place: an open run's directory
// in the data directory by the run, any other by its normal path.
void normalize_place(const Api& api, BeginTick& command) {
  if (!command.run_root || !require_absolute("run_root", command.run_root)) return;
  const std::string root = normal_root(*command.run_root);
  const auto run_id = parse_uuid(std::filesystem::path(root).filename().string());
  const Run* run = run_id ? api.engine.world().find_run(*run_id) : nullptr;
  const bool is_of_run =
      run != nullptr && run->run_root.empty() && root == normal_root(run_root_of(api, {}, run->id));
  if (!is_of_run) {
    command.run_root = root;
  } else if (command.run_id.value_or(run->id) == run->id) {
    command.run_id = run->id;
    command.run_root.reset();
  }
}

// Returns the directory of the loop's marker: that of the tick in the world, or else of the tick
// that is to begin. Returns "" if there is no marker to read.
std::string root_of_marker(const Api& api, const BeginTick& command) {
  const World& world = api.engine.world();
  if (const Tick* tick = world.find_tick(command.loop)) {
    return run_root_of(api, tick->run_root, tick->run_id);
  }
  std::string root = command.run_root.value_or("");
  if (root.empty() && command.run_id) {
    const Run* run = world.find_run(*command.run_id);
    if (run != nullptr) root = run_root_of(api, run->run_root, run->id);
  }
  return require_absolute("run_root", root) ? root : std::string();
}

// Records the rejection as an event. It has no command id: otherwise a repeated command would be
// answered from that event.
void note_refusal(Api& api, const Call& call, const BeginTick& command, const TickMarker& marker,
                  Rejection& refusal) {
  auto transaction = api.engine.begin(call.origin.without_command());
  if (refusal.code == ErrorCode::TICK_IN_PROGRESS) {
    (void)transaction.apply(NoteTickSkipped{command});
  } else if (refusal.code == ErrorCode::PREVIOUS_TICK_INCOMPLETE) {
    (void)transaction.apply(NoteTickIncomplete{command});
    if (!marker.problem.empty()) refusal.details.push_back({"marker_problem", marker.problem});
  }
}

void decide_begin(Api& api, Call& call, BeginTick& command, const TickMarker& marker) {
  if (answered_before(api, call, begin_tick_result)) return;
  command.marker = marker.found;
  expire_due_tick(api, command.loop);
  if (!command.marker.loop.empty()) expire_due_tick(api, command.marker.loop);
  expire_due_lock(api, command.lock_token);
  auto outcome = outcome_of(api, call.origin, command, begin_tick_result);
  if (!outcome) note_refusal(api, call, command, marker, outcome.error());
  answer_with_files(api, call.responder, std::move(outcome));
}

void read_marker_and_begin(Api& api, Call& call, BeginTick command) {
  const std::string root = root_of_marker(api, command);
  if (root.empty()) return decide_begin(api, call, command, {});
  Lane lane{.name = "run root " + root, .path = root, .deadline_ms = limits::run_root_read_ms_max};
  lane.failed = [root, responder = call.responder](LaneFailure) {
    responder.reject(run_root_hangs(root));
  };
  api.blocking.run(
      std::move(lane),
      [&api, root, call = Call{{}, call.origin, call.responder}, command = std::move(command),
       wall_ns = api.engine.now_ns()]() mutable -> std::function<void()> {
        return [&api, root, call = std::move(call), command = std::move(command),
                marker = read_tick_marker(root, api.log, wall_ns, api.read_found_file)]() mutable {
          // If another tick has begun or ended meanwhile, the marker is in another directory.
          if (root_of_marker(api, command) != root)
            return read_marker_and_begin(api, call, command);
          decide_begin(api, call, command, marker);
        };
      });
}

void begin(Api& api, Call& call) {
  auto command = from_json<BeginTick>(call.params);
  if (!command) return call.responder.reject(command.error());
  if (refused_own_loop(call, command->loop)) return;
  if (names_runs_own_root(api, *command)) command->run_root.reset();
  if (command->run_root && answered_before(api, call, begin_tick_result)) return;
  const std::optional<std::string> run_root = command->run_root;
  with_run_root_of_run(api, call, run_root,
                       [command = std::move(*command)](Api& again, Call& checked) mutable {
                         normalize_place(again, command);
                         read_marker_and_begin(again, checked, command);
                       });
}

// Applies a command that ends a tick, and answers.
template <class T>
void end_by(Api& api, Call& call, const T& command, ResultOf result_of) {
  if (answered_before(api, call, result_of)) return;
  expire_due_tick(api, command.loop);
  answer_with_files(api, call.responder, outcome_of(api, call.origin, command, result_of));
}

void end(Api& api, Call& call) {
  const auto command = from_json<EndTick>(call.params);
  if (!command) return call.responder.reject(command.error());
  if (refused_own_loop(call, command->loop)) return;
  end_by(api, call, *command, end_tick_result);
}

void recover(Api& api, Call& call) {
  const auto command = from_json<RecoverTick>(call.params);
  if (!command) return call.responder.reject(command.error());
  end_by(api, call, *command, recover_tick_result);
}

struct ListTicks {
  std::optional<std::string> loop;
  std::optional<RunId> run_id;
  std::optional<std::uint32_t> limit;
  std::optional<Position> cursor;
};
BOOST_DESCRIBE_STRUCT(ListTicks, (), (loop, run_id, limit, cursor))

void list_ticks(Api& api, Call& call) {
  auto params = from_json<ListTicks>(call.params);
  if (!params) return call.responder.reject(params.error());
  const TickFilter filter{std::move(params->loop), params->run_id};
  const auto limit = page_limit(params->limit, 50, tick_list_rows_max);
  if (!limit) return call.responder.reject(limit.error());
  const Position cursor = params->cursor.value_or(0);
  answer_from_moment(api, call.responder, [&api, filter, limit = *limit, cursor]() -> RowsView {
    return [&api, filter, limit, cursor,
            open = open_ticks(api, filter, limit)](const RunIndex& index) {
      return tick_list_view(api, index.ticks(), filter, limit, cursor, open);
    };
  });
}

}  // namespace

std::vector<Method> tick_methods() {
  return {
      {"tick.begin", true, Role::worker, params_of<BeginTick>(), begin},
      {"tick.end", true, Role::worker, params_of<EndTick>(), end},
      {"tick.recover", true, Role::operator_, params_of<RecoverTick>(), recover},
      {"tick.list", false, Role::viewer, params_of<ListTicks>(), list_ticks},
      {"watchdog.check", true, Role::operator_, params_of<CheckWatchdog>(), check_watchdog},
  };
}

}  // namespace signalbox
