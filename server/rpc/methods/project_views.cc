#include "server/rpc/methods/project_views.h"

#include <filesystem>

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
