// Asks for approvals as recorded attempts did, and has each decided as it was: after the recorded
// time, whether the attempt is under way then or has left its result.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "server/engine/engine.h"
#include "server/replay/what_if/recorded_work.h"

namespace signalbox {

class SimulatedQuestions {
 public:
  // `plan_decision` applies a person's command after this time.
  using PlanDecision = std::function<void(std::int64_t after_ns, Command command)>;
  SimulatedQuestions(Engine& engine, PlanDecision plan_decision)
      : engine_(engine), plan_decision_(std::move(plan_decision)) {}

  // Asks for the attempt with this token. A question that nobody decided in time waits for ever, or
  // until its attempt fails.
  void ask(const RunId& run_id, const std::string& station, Token token,
           const RecordedQuestion& question);

 private:
  Engine& engine_;
  const PlanDecision plan_decision_;
};

}  // namespace signalbox
