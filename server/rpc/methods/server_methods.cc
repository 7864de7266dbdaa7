// `server.*`: the service's status, metrics and latest crash report.
#include <set>

#include "domain/limits.h"
#include "server/engine/engine.h"
#include "server/followers/projector.h"
#include "server/platform/artifact_store.h"
#include "server/platform/program_version.h"
#include "server/rpc/artifact_work.h"
#include "server/rpc/claim_queue.h"
#include "server/rpc/event_feed.h"
#include "server/rpc/lock_queue.h"
#include "server/rpc/method.h"
#include "server/rpc/methods/families.h"
#include "server/rpc/methods/server_limits.h"
#include "server/rpc/service_pause.h"
#include "server/text/described_json.h"
#include "server/text/json_text.h"
#include "server/text/time_text.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::size_t held_projects_shown = 16;

// Returns the projects of which nothing is started or merged (policy_hold()): the first names.
json::object held_projects(const World& world) {
  std::set<std::string> names;
  for (const auto& [name, project] : world.projects) {
    if (policy_hold(project) != PolicyHold::none) names.insert(name);
  }
  json::object held;
  held["total"] = names.size();
  json::array& shown = held["projects"].emplace_array();
  for (const std::string& name : names) {
    if (shown.size() == held_projects_shown) break;
    shown.emplace_back(name);
  }
  return held;
}

void add_state(const World& world, const MethodParts& parts, json::object& result) {
  result["incarnation"] = world.server.incarnation;
  result["state_digest"] = to_hex(parts.world_digest());
  result["open_runs"] = world.runs.size();
  result["ready_stations"] = world.ready.size();
  result["held_locks"] = world.locks.size();
  result["paused"] = pause_json(world);
  result["projects_held"] = held_projects(world);
}

// While something waits for a log that is away, or for long, the world has what nobody may know of
// yet: then only what this process knows of itself and of the log is told, and that at once.
void status(Api& api, Call& call, const MethodParts& parts) {
  const bool is_overdue = api.engine.is_overdue();
  json::object result;
  result["version"] = program_version();
  if (!is_overdue) add_state(api.engine.world(), parts, result);
  result["durable_position"] = api.engine.durable_position();
  result["waiting_claims"] = parts.claims.size();
  result["waiting_locks"] = parts.locks.size();
  result["subscriptions"] = parts.feed.size();
  result["storage_full"] = api.engine.storage_full();
  result["read_models_position"] = api.projector.applied();
  json::value& rebuild = result["read_models_rebuild"];
  if (const auto rebuilding = api.projector.rebuilding()) {
    rebuild = {{"reason", rebuilding->reason}, {"position", rebuilding->through}};
  }
  add_disk_sources(api, result);
  for (const StatusPart& add_to : parts.status_parts) add_to(result);
  json::array disk_failures;
  const json::object& failures = result.at("disk_failures").as_object();
  for (const auto& failure : failures) disk_failures.push_back(failure.value());
  result["disk_failures"] = std::move(disk_failures);
  if (api.facts.started_at_ns != 0) result["started_at"] = format_time(api.facts.started_at_ns);
  result["data_directory"] = api.facts.data_directory;
  result["socket"] = api.facts.socket_path;
  json::array run_roots;
  if (api.run_root_rule) {
    for (const auto& root : api.run_root_rule->roots()) run_roots.emplace_back(root.string());
  }
  result["run_roots"] = std::move(run_roots);
  if (is_overdue) return call.responder.result_at_once(std::move(result));
  call.responder.result(std::move(result));
}

// Adds the goal of its run to each item that is of an open one. The report itself has no goals:
// they are free text, and the log must be able to erase it.
void add_goals(const World& world, json::object& report) {
  json::value* const items = report.if_contains("items");
  if (items == nullptr || !items->is_array()) return;
  constexpr std::size_t id_characters = 36;
  for (json::value& each : items->get_array()) {
    json::object* const item = each.if_object();
    const json::value* const name = item == nullptr ? nullptr : item->if_contains("name");
    if (name == nullptr || !name->is_string()) continue;
    const auto run_id = parse_uuid(std::string_view(name->get_string()).substr(0, id_characters));
    const Run* const run = run_id ? world.find_run(*run_id) : nullptr;
    if (run != nullptr) (*item)["goal"] = shortened(run->goal, RunRow::goal_bytes_max);
  }
}

// Answers with the report of the latest crash, which is read off the engine's thread; nulls if
// there was none.
void crash_report_method(Api& api, Call& call) {
  const ServerState& server = api.engine.world().server;
  if (server.recovered_at == 0) {
    return call.responder.result(
        json::object{{"recovered_at", nullptr}, {"path", nullptr}, {"report", nullptr}});
  }
  run_artifact_work(
      api, call.responder.caller(), "crash report",
      [responder = call.responder](const Rejection& why) { responder.reject(why); },
      [&api, digest = server.crash_report, position = server.recovered_at,
       responder = call.responder]() -> std::function<void()> {
        const auto text = api.artifacts.get(digest);
        return [&api, text, digest, position, responder]() mutable {
          auto report = text ? parse_json(*text) : Decided<json::value>();
          if (!text || !report || !report->is_object()) {
            return responder.reject(
                {ErrorCode::ARTIFACT_NOT_FOUND,
                 "the crash report can't be read: " +
                     (text ? std::string("it isn't one") : text.error().message),
                 {{"path", api.artifacts.location_of(digest)}},
                 {"signalbox events --from " + std::to_string(position) + " --limit 1"}});
          }
          add_goals(api.engine.world(), report->get_object());
          json::object result;
          result["recovered_at"] = position;
          result["path"] = api.artifacts.location_of(digest);
          result["report"] = std::move(*report);
          responder.result(std::move(result));  // its goals are those of this moment
        };
      });
}

// As status(): an alert on the log of the cell needs them just while that is away.
void metrics_method(Api& api, Call& call, const MethodParts& parts) {
  json::object result;
  result["media_type"] = "text/plain; version=0.0.4; charset=utf-8";
  result["text"] = parts.metrics_text();
  if (api.engine.is_overdue()) return call.responder.result_at_once(std::move(result));
  call.responder.result(std::move(result));
}

}  // namespace

std::vector<Method> server_methods(const MethodParts& given) {
  const auto parts = std::make_shared<const MethodParts>(given);
  return {
      {"server.status", false, Role::viewer, params_of<NoParams>(),
       [parts](Api& api, Call& call) { status(api, call, *parts); }},
      {"server.limits", false, Role::viewer, params_of<NoParams>(), answer_limits},
      {"server.metrics", false, Role::viewer, params_of<NoParams>(),
       [parts](Api& api, Call& call) { metrics_method(api, call, *parts); }},
      {"server.crash_report", false, Role::viewer, params_of<NoParams>(), crash_report_method},
  };
}

}  // namespace signalbox
