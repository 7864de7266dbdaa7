#include "tests/simulation/card_run_audit.h"

namespace signalbox::simulation {

void CardRunAudit::read(const Record& record) {
  if (const auto* put = event_as<ProjectPut>(record.event)) {
    projects_[record.stream.name].pipeline = put->pipeline;
  } else if (const auto* adopted = event_as<PolicyAdopted>(record.event)) {
    projects_[record.stream.name].agent_timeout_ms =
        adopted->policy.agent_timeout_minutes * 60 * 1000;
  } else if (const auto* submitted = event_as<CardSubmitted>(record.event)) {
    project_of_card_[record.stream.run_id] = submitted->project;
  } else if (const auto* begun = event_as<CardStarted>(record.event)) {
    due_[begun->run_id] = projects_[project_of_card_[record.stream.run_id]];
  } else if (const auto* started = event_as<RunStarted>(record.event)) {
    read_start(record, *started);
  } else if (const auto* retried = event_as<RunRetried>(record.event)) {
    due_.erase(record.stream.run_id);  // it keeps the pipeline that it began with
    if (retried->pipeline) pipelines_[retried->pipeline_digest] = *retried->pipeline;
  }
}

void CardRunAudit::read_start(const Record& record, const RunStarted& started) {
  if (started.pipeline) pipelines_[started.pipeline_digest] = *started.pipeline;
  const auto place = due_.find(record.stream.run_id);
  if (place == due_.end()) return;
  check(record, place->second, pipelines_[started.pipeline_digest]);
  due_.erase(place);
}

void CardRunAudit::check(const Record& record, const Project& project,
                         const PipelineDefinition& pipeline) {
  const auto& stations = project.pipeline.stations;
  if (pipeline.stations.size() != stations.size()) {
    return report_contradiction(environment_, record, "its project has another pipeline");
  }
  for (std::size_t index = 0; index < stations.size(); ++index) {
    const StationDefinition& wanted = stations[index];
    const StationDefinition& given = pipeline.stations[index];
    const bool is_timed_by_policy =
        wanted.executor == ExecutorKind::coderunner && wanted.timeout_ms == usual_timeout_ms;
    const std::int64_t timeout_ms =
        is_timed_by_policy ? project.agent_timeout_ms : wanted.timeout_ms;
    if (given.name != wanted.name || given.executor != wanted.executor) {
      report_contradiction(environment_, record, "its project has another station " + wanted.name);
    } else if (given.timeout_ms != timeout_ms) {
      report_contradiction(environment_, record,
                           "station " + wanted.name + " has " + std::to_string(given.timeout_ms) +
                               " ms, and not the " + std::to_string(timeout_ms) + " ms it should");
    }
  }
}

}  // namespace signalbox::simulation
