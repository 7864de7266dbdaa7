// `server.pause`, `server.resume` and `server.in_flight`: nothing new begins in the whole service
// until it is resumed, and what is still under way meanwhile.
#include <algorithm>
#include <vector>

#include "domain/attempt_wait.h"
#include "projections/run_row.h"
#include "server/engine/engine.h"
#include "server/rpc/attempt_surroundings.h"
#include "server/rpc/command_call.h"
#include "server/rpc/methods/families.h"
#include "server/rpc/page_limit.h"
#include "server/rpc/service_pause.h"
#include "server/text/described_json.h"
#include "server/text/time_text.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct ListInFlight {
  std::optional<std::uint32_t> limit;
};
BOOST_DESCRIBE_STRUCT(ListInFlight, (), (limit))

// Returns the result of both commands from their event.
json::object changed_pause(const Api&, std::span<const Record> records) {
  json::object result;
  result["changed"] = true;
  json::value& paused = result["paused"];
  for (const Record& record : records) {
    const auto* event = event_as<ServicePaused>(record.event);
    if (event == nullptr) continue;
    paused =
        to_json(ServicePause{record.position, record.recorded_at_ns, record.actor, event->reason});
  }
  return result;
}

// Handles a command that may find the service as it is to be.
template <class Command>
void change_pause(Api& api, Call& call) {
  const auto command = from_json<Command>(call.params);
  if (!command) return call.responder.reject(command.error());
  if (answered_before(api, call, changed_pause)) return;
  call.responder.answer(outcome_of(api, call.origin, *command, changed_pause, [&] {
    return json::object{{"changed", false}, {"paused", pause_json(api.engine.world())}};
  }));
}

json::object attempt_json(const Api& api, const Run& run) {
  const Attempt& attempt = *run.attempt;
  const AttemptWait wait = attempt_wait(run, attempt_surroundings(api, run));
  json::object shown;
  shown["run_id"] = to_json(run.id);
  shown["goal"] = shortened(run.goal, RunRow::goal_bytes_max);
  shown["station"] = run.definition().name;
  shown["attempt"] = attempt.number;
  shown["worker"] = attempt.worker;
  shown["since"] = format_time(attempt.started_at_ns);
  shown["waiting"] = wait.works() ? json::value(nullptr) : to_json(wait.need);
  if (!wait.text.empty()) shown["text"] = wait.text;
  shown["unblocked_by"] = wait.unblocked_by;
  shown["next_commands"] = json::array(wait.next_commands.begin(), wait.next_commands.end());
  return shown;
}

void list_in_flight(Api& api, Call& call) {
  const auto params = from_json<ListInFlight>(call.params);
  if (!params) return call.responder.reject(params.error());
  const auto limit = page_limit(params->limit, 100, in_flight_rows_max);
  if (!limit) return call.responder.reject(limit.error());
  const World& world = api.engine.world();
  std::vector<const Run*> runs;
  for (const auto& [id, run] : world.runs) {
    if (run->attempt) runs.push_back(run.get());
  }
  const std::size_t shown = std::min<std::size_t>(runs.size(), *limit);
  std::partial_sort(
      runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(shown), runs.end(),
      [](const Run* a, const Run* b) { return a->attempt->token < b->attempt->token; });
  json::object result;
  result["paused"] = pause_json(world);
  result["total"] = runs.size();
  json::array& attempts = result["attempts"].emplace_array();
  for (std::size_t row = 0; row < shown; ++row) attempts.push_back(attempt_json(api, *runs[row]));
  call.responder.result(std::move(result));
}

}  // namespace

std::vector<Method> pause_methods() {
  return {
      {"server.pause", true, Role::operator_, params_of<PauseService>(),
       change_pause<PauseService>},
      {"server.resume", true, Role::operator_, params_of<ResumeService>(),
       change_pause<ResumeService>},
      {"server.in_flight", false, Role::viewer, params_of<ListInFlight>(), list_in_flight},
  };
}

}  // namespace signalbox
