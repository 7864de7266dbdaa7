// `loop.*`: the service's own loops, when they are due, and beginning a tick now.
#include <algorithm>
#include <vector>

#include "domain/own_loops.h"
#include "server/board/board_loops.h"
#include "server/rpc/command_call.h"
#include "server/scheduler/retention_loop.h"
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

struct ListLoops {};
BOOST_DESCRIBE_STRUCT(ListLoops, (), ())

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

// Those that have a schedule.
std::vector<ScheduledLoop*> scheduled_loops(const Api& api) {
  std::vector<ScheduledLoop*> loops;
  if (api.board != nullptr) loops.assign(api.board->loops().begin(), api.board->loops().end());
  if (api.retention != nullptr) loops.push_back(api.retention->loops().front());
  return loops;
}

void trigger_loop(Api& api, Call& call) {
  const auto command = from_json<TriggerLoop>(call.params);
  if (!command) return call.responder.reject(command.error());
  const auto loops = scheduled_loops(api);
  const auto found = std::find_if(loops.begin(), loops.end(), [&](const ScheduledLoop* each) {
    return each->name() == command->loop;
  });
  if (found == loops.end()) return call.responder.reject(loop_not_found(command->loop));
  ScheduledLoop* const loop = *found;
  const std::string reason = command->reason.value_or("triggered");
  if (reason.size() > limits::reason_bytes_max) {
    return call.responder.reject({ErrorCode::LIMIT_EXCEEDED,
                                  "the reason is too long",
                                  {{"field", std::string("reason")}},
                                  {}});
  }
  loop->trigger(reason, /*again=*/false,
                [name = command->loop, responder = call.responder](const Triggered& triggered) {
                  if (triggered.refused) return responder.reject(*triggered.refused);
                  json::object result;
                  result["loop"] = name;
                  result["began"] = triggered.began;
                  if (!triggered.began) result["skipped"] = "tick_in_progress";
                  if (triggered.token != 0) result["token"] = triggered.token;
                  responder.result(std::move(result));
                });
}

void list_loops(Api& api, Call& call) {
  const auto params = from_json<ListLoops>(call.params);
  if (!params) return call.responder.reject(params.error());
  const World& world = api.engine.world();
  json::array loops;
  for (const ScheduledLoop* loop : scheduled_loops(api)) {
    json::object object;
    object["loop"] = loop->name();
    object["schedule"] = loop->schedule().text();
    object["time_zone"] = loop->schedule().zone();
    object["next_due_at"] =
        loop->due_ns() ? json::value(format_time(*loop->due_ns())) : json::value(nullptr);
    const auto known = world.loops.find(loop->name());
    object["last_due_at"] = known == world.loops.end()
                                ? json::value(nullptr)
                                : json::value(format_time(known->second.due_ns));
    object["tick"] = tick_of(world, loop->name());
    loops.push_back(std::move(object));
  }
  json::object result;
  result["loops"] = std::move(loops);
  call.responder.result(std::move(result));
}

}  // namespace

std::vector<Method> loop_methods() {
  return {
      {"loop.trigger", false, Role::operator_, field_names<TriggerLoop>(), trigger_loop},
      {"loop.list", false, Role::viewer, field_names<ListLoops>(), list_loops},
  };
}

}  // namespace signalbox
