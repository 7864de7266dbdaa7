#include "server/rpc/methods/project_views.h"

#include <algorithm>
#include <filesystem>

#include "domain/service_loops.h"
#include "domain/try.h"
#include "server/board/policy_reader.h"
#include "server/rpc/pipeline_json.h"
#include "server/rpc/read_models.h"
#include "server/text/described_json.h"
#include "server/text/time_text.h"
#include "store/event_log.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// Returns the error of the policy file from the log, or null.
Decided<json::value> refused_json(const Api& api, const RunIndex& index, const Project& project) {
  if (project.refused_digest.is_zero()) return json::value(nullptr);
  const auto position = index.cards().policy_refused(project.name);
  if (!position) return unreadable(position.error());
  const auto records = api.log.read(*position, 1);
  if (!records) return unreadable(records.error());
  const auto* event = records->empty() ? nullptr : event_as<PolicyRefused>(records->front().event);
  if (event == nullptr) return json::value(nullptr);
  json::object refused;
  refused["digest"] = to_json(event->digest);
  refused["line"] = event->line;
  refused["message"] = event->message;
  refused["position"] = to_json(*position);
  refused["recorded_at"] = format_time(records->front().recorded_at_ns);
  return json::value(std::move(refused));
}

// Returns the position of the latest tick that the board's loop began; 0 if there is none.
Stored<Position> latest_tick(const RunIndex& index, std::string_view loop) {
  // A row of a tick that the log doesn't know has no token; that of any other is its start.
  constexpr std::size_t looked_at = 10;
  const auto page = TRY(index.ticks().list({std::string(loop), {}}, looked_at));
  Position latest = 0;
  for (const TickRow& row : page.rows) latest = std::max(latest, row.token);
  return latest;
}

// Returns whether a tick has read the project's policy file, or seen that there is none, since the
// project was put. No event says that there was none.
Decided<bool> is_policy_read(const Api& api, const RunIndex& index, const Project& project) {
  if (!project.policy_digest.is_zero() || !project.refused_digest.is_zero() ||
      project.policy_file_seen) {
    return true;
  }
  for (const std::string_view loop : {heartbeat_loop_name, synthesizer_loop_name}) {
    const auto tick = latest_tick(index, loop);
    if (!tick) return unreadable(tick.error());
    if (*tick > project.changed_at) return true;
  }
  // Any other event of the project, such as that of a worktree, came after a tick.
  const auto records = api.log.read(project.changed_at, 1);
  if (!records && records.error().kind == StoreError::Kind::dropped) return true;
  if (!records) return unreadable(records.error());
  return records->empty() || event_as<ProjectPut>(records->front().event) == nullptr;
}

}  // namespace

Decided<json::object> project_view(const Api& api, const RunIndex& index, const Project& project,
                                   bool whole) {
  const auto counts = index.cards().counts(project.name);
  if (!counts) return unreadable(counts.error());
  json::object object;
  object["name"] = project.name;
  object["repository"] = project.repository;
  object["base"] = project.base;
  object["remote"] = project.remote;
  object["cards"] = to_json(*counts);
  object["policy"] = to_json(project.policy);
  object["policy_digest"] =
      project.policy_digest.is_zero() ? json::value(nullptr) : to_json(project.policy_digest);
  object["policy_file"] = (std::filesystem::path(project.repository) / policy_file_name).string();
  object["policy_file_refused"] = !project.refused_digest.is_zero();
  const PolicyHold hold = policy_hold(project);
  object["policy_hold"] = hold == PolicyHold::none ? json::value(nullptr) : to_json(hold);
  object["policy_read"] = TRY(is_policy_read(api, index, project));
  json::array stations;
  for (const StationDefinition& station : project.pipeline.stations) {
    stations.emplace_back(station.name);
  }
  object["stations"] = std::move(stations);
  object["changed_position"] = to_json(project.changed_at);
  if (!whole) return object;
  object["pipeline"] = pipeline_to_json(project.pipeline);
  auto refused = TRY(refused_json(api, index, project));
  object["refused"] = std::move(refused);
  return object;
}

Rejection project_not_found(const std::string& name) {
  return {ErrorCode::PROJECT_NOT_FOUND,
          "there is no project " + name,
          {{"project", name}},
          {"signalbox project list"}};
}

json::object put_project_result(const Api&, std::span<const Record> records) {
  json::object result;
  for (const Record& record : records) {
    const auto* put = event_as<ProjectPut>(record.event);
    if (put == nullptr) continue;
    result["name"] = record.stream.name;
    result["repository"] = put->repository;
    result["base"] = put->base;
    result["remote"] = put->remote;
    result["changed"] = true;
  }
  return result;
}

}  // namespace signalbox
