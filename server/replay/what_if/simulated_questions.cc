#include "server/replay/what_if/simulated_questions.h"

namespace signalbox {

void SimulatedQuestions::ask(const RunId& run_id, const std::string& station, Token token,
                             const RecordedQuestion& question) {
  const auto asked =
      engine_.begin(by_the_service).apply(RequestApproval{run_id, station, token, "recorded"});
  if (!asked || *asked == 0 || !question.decision) return;
  plan_decision_(question.waited_ns, ResumeRun{run_id, {}, question.decision, {}, station});
}

}  // namespace signalbox
