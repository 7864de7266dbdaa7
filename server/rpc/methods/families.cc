#include "server/rpc/methods/families.h"

#include <iterator>
#include <utility>

#include "server/rpc/known_pipeline.h"

namespace signalbox {

std::vector<Method> all_methods(const MethodParts& parts) {
  const auto known_pipeline =
      std::make_shared<KnownPipeline>(parts.coderunner_mode, parts.default_pipeline);
  std::vector<Method> methods;
  const auto add = [&methods](std::vector<Method> family) {
    std::move(family.begin(), family.end(), std::back_inserter(methods));
  };
  add(run_methods(known_pipeline, parts.trace_resource, parts.runners,
                  parts.find_repository_fault));
  add(strategy_methods());
  add(station_methods(parts.claims));
  add(plan_methods());
  add(step_methods(parts.steps));
  add(lock_methods(parts.locks));
  add(tick_methods());
  add(loop_methods(parts.loops, parts.plan_files));
  add(project_methods(known_pipeline, parts.check_repository, parts.check_project));
  add(card_methods(parts.trigger_heartbeat));
  add(board_methods());
  add(attention_methods({parts.status_parts, parts.loops}));
  add(report_methods({parts.status_parts, parts.loops}, parts.reports));
  add(what_if_methods(parts.forecasts));
  add(artifact_methods(parts.rebuild_artifacts));
  add(event_methods(parts.feed, parts.subscribe_agent_logs));
  add(history_methods());
  add(state_methods());
  add(server_methods(parts));
  add(pause_methods());
  add(access_methods(parts.access));
  add(audit_methods(parts.audit));
  add(log_methods(parts.redact));
  add(runner_methods(parts.runners));
  add(cell_methods(parts.cell));
  methods.push_back(whoami_method(methods));
  return methods;
}

}  // namespace signalbox
