// The fixture of the tests of deep work: a run whose station has a plan, and the commands about it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/domain/given_when_then.h"

namespace signalbox {

inline StepDefinition step(std::string id, std::vector<std::string> dependencies = {}) {
  return {std::move(id), "do it", StepType::implement, std::move(dependencies), StepEffort::small};
}
inline ProposedStep proposed(std::string id, std::vector<std::string> dependencies = {}) {
  return {std::move(id), "do it", StepType::implement, std::move(dependencies), StepEffort::small};
}

inline PipelineDefinition deep_pipeline(DeepWorkDefinition work = {}) {
  StationDefinition station;
  station.name = "implement";
  station.executor = ExecutorKind::deep_work;
  station.deep_work = std::move(work);
  station.heartbeat_timeout_ms = 500;
  station.retry.strategies = {Strategy::original, Strategy::simplified};
  return {"deep", {station}, {}};
}
inline DeepWorkDefinition by_command() {
  DeepWorkDefinition work;
  work.step.command = {"true"};
  return work;
}

inline Event explored() {
  return PlanEvent{ExplorationFinished{"implement", {"goal", {}, {}}, 0, 0}};
}
inline Event planned(std::vector<StepDefinition> steps) {
  return PlanEvent{PlanSet{"implement", std::move(steps), 0}};
}
inline Event step_started(std::string id, std::uint32_t attempt = 1,
                          Strategy strategy = Strategy::original, std::int64_t lease_ms = 0) {
  return PlanEvent{StepAttemptStarted{"implement", std::move(id), attempt, strategy,
                                      lease_ms == 0 ? "deep_work" : "ann", lease_ms}};
}
inline Event step_completed(std::string id, std::uint32_t attempt = 1) {
  return PlanEvent{StepCompleted{std::move(id), attempt, ""}};
}

class PlanTest : public GivenWhenThen {
 protected:
  // Starts a run at a deep_work station. The station's attempt has token 2; the next event gets
  // position 4.
  void begun(DeepWorkDefinition work) {
    given(
        {started(deep_pipeline(std::move(work))), dispatched("implement"), intended("implement")});
  }
  // Starts the same run with a plan of these steps. The next event gets position 6.
  void begun_with(DeepWorkDefinition work, std::vector<StepDefinition> steps) {
    begun(std::move(work));
    given({explored(), planned(std::move(steps))});
  }
  // The NextStep of the station's own worker, and of an outside worker.
  [[nodiscard]] NextStep own() const { return {"deep_work", run, 2, {}, {}}; }
  [[nodiscard]] NextStep outside() const { return {"ann", {}, {}, {}, {}}; }
  [[nodiscard]] FailStep failing(const std::string& id, Token token) const {
    return {run, id, token, {}, "BROKEN", "no luck"};
  }
  [[nodiscard]] Token token_of(const std::string& id) const {
    return the_run().plan->find(id)->token;
  }
  [[nodiscard]] StepStatus status_of(const std::string& id) const {
    return the_run().plan->find(id)->status;
  }
  // Returns the step ids in the details of the rejection.
  [[nodiscard]] std::vector<std::string> rejected_ids() const {
    for (const Detail& detail : rejection->details) {
      if (detail.key == "step_ids") return std::get<std::vector<std::string>>(detail.value);
    }
    return {};
  }
  SetPlan plan_of(std::vector<ProposedStep> steps) const {
    return {run, "implement", 2, std::move(steps)};
  }
};

}  // namespace signalbox
