// `loop.*`: lists the service's own loops with their due times, triggers a tick, and says what one
// would remove.
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "domain/limits.h"
#include "domain/service_loops.h"
#include "server/engine/engine.h"
#include "server/rpc/command_call.h"
#include "server/rpc/methods/families.h"
#include "server/rpc/methods/file_retention_views.h"
#include "server/rpc/service_pause.h"
#include "server/scheduler/service_loops.h"
#include "server/text/described_json.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct TriggerLoop {
  std::string loop;
  std::optional<std::string> reason;
};
BOOST_DESCRIBE_STRUCT(TriggerLoop, (), (loop, reason))

Rejection loop_not_found(const std::string& loop) {
  return {ErrorCode::LOOP_NOT_FOUND,
          "no loop " + loop + " can be triggered",
          {{"loop", loop}},
          {"signalbox loop list"}};
}

json::object tick_of(const World& world, std::string_view loop) {
  json::object object;
  const Tick* tick = world.find_tick(std::string(loop));
  if (tick == nullptr) return object;
  object["token"] = to_json(tick->token);
  object["status"] = to_json(tick->status);
  object["reason"] = tick->reason;
  object["started_at"] = format_time(tick->started_at_ns);
  return object;
}

// Adds the pause of the service to a loop that starts cards or merges: its ticks start nothing.
void add_pause(const World& world, std::string_view loop, json::object& object) {
  const bool starts_work = loop == heartbeat_loop_name || loop == synthesizer_loop_name;
  if (starts_work && world.server.pause) object["paused"] = pause_json(world);
}

void trigger_loop(Api& api, Call& call, const ServiceLoops& loops) {
  const auto command = from_json<TriggerLoop>(call.params);
  if (!command) return call.responder.reject(command.error());
  ScheduledLoop* const loop = loops.find(command->loop);
  if (loop == nullptr) return call.responder.reject(loop_not_found(command->loop));
  const std::string reason = command->reason.value_or("triggered");
  if (reason.size() > limits::reason_bytes_max) {
    return call.responder.reject({ErrorCode::LIMIT_EXCEEDED,
                                  "the reason is too long",
                                  {{"field", std::string("reason")}},
                                  {}});
  }
  loop->trigger(
      reason, /*again=*/false,
      [&api, name = command->loop, responder = call.responder](const TriggerResult& triggered) {
        if (triggered.refused) return responder.reject(*triggered.refused);
        json::object result;
        result["loop"] = name;
        result["began"] = triggered.began;
        if (!triggered.began) result["skipped"] = "tick_in_progress";
        if (triggered.token != 0) result["token"] = triggered.token;
        add_pause(api.engine.world(), name, result);
        responder.result(std::move(result));
      });
}

json::value last_due_of(const World& world, std::string_view loop) {
  const auto known = world.loops.find(std::string(loop));
  return known == world.loops.end() ? json::value(nullptr)
                                    : json::value(format_time(known->second.due_ns));
}

// Returns what the log says of the loops, `names` and those that had a due time: for a service that
// drives none, as one of the past. Their schedules are settings.
json::array loops_of_log(const World& world, std::vector<std::string> names) {
  std::set<std::string> others;
  for (const auto& [name, loop] : world.loops) others.insert(name);
  for (const std::string& name : names) others.erase(name);
  names.insert(names.end(), others.begin(), others.end());
  json::array rows;
  for (const std::string& name : names) {
    json::object row{{"loop", name},
                     {"schedule", nullptr},
                     {"time_zone", nullptr},
                     {"next_due_at", nullptr},
                     {"last_due_at", last_due_of(world, name)},
                     {"tick", tick_of(world, name)}};
    add_pause(world, name, row);
    rows.push_back(std::move(row));
  }
  return rows;
}

void list_loops(Api& api, Call& call, const ServiceLoops& loops) {
  const World& world = api.engine.world();
  json::array rows;
  for (const ScheduledLoop* loop : loops.all()) {
    json::object object;
    object["loop"] = loop->name();
    object["schedule"] = loop->schedule().text();
    object["time_zone"] = loop->schedule().zone();
    object["next_due_at"] =
        loop->due_ns() ? json::value(format_time(*loop->due_ns())) : json::value(nullptr);
    object["last_due_at"] = last_due_of(world, loop->name());
    object["tick"] = tick_of(world, loop->name());
    add_pause(world, loop->name(), object);
    rows.push_back(std::move(object));
  }
  json::object result;
  result["loops"] = loops.all().empty() ? loops_of_log(world, api.facts.loops) : std::move(rows);
  call.responder.result(std::move(result));
}

}  // namespace

std::vector<Method> loop_methods(const ServiceLoops& loops, const PlanFiles& plan_files) {
  return {
      {"loop.trigger", false, Role::operator_, params_of<TriggerLoop>(), with(loops, trigger_loop)},
      {"loop.list", false, Role::viewer, params_of<NoParams>(), with(loops, list_loops)},
      plan_files_method(plan_files),
  };
}

}  // namespace signalbox
