// Fixture for runs that wait for a person: at an approval station, for what an attempt asked, and
// with a budget that is used up.
#pragma once

#include <string>
#include <utility>

#include "tests/domain/given_when_then.h"

namespace signalbox {

class ApprovalFixture : public GivenWhenThen {
 protected:
  static StationDefinition approval_station(std::string name) {
    StationDefinition station = worker_station(std::move(name));
    station.executor = ExecutorKind::approval;
    return station;
  }
  static Event held(std::string station, WaitReason reason = WaitReason::approval,
                    std::string note = "a decision is asked for") {
    return StationEvent{StationHeld{std::move(station), reason, std::move(note)}};
  }
  static Event approved(std::string station, std::string reason = "") {
    return StationEvent{StationApproved{std::move(station), std::move(reason)}};
  }

  void when_completed(const std::string& station, Token token, Usage usage = {},
                      Outcome outcome = Outcome::succeeded) {
    CompleteStation complete = end_of(station, token, outcome);
    if (usage != Usage{}) complete.usage = usage;
    when(complete);
  }
  [[nodiscard]] ResumeRun decision(Decision decided, std::string reason = "") const {
    return {run, std::move(reason), decided, {}};
  }
  // Returns the decision of the question that was asked at this position.
  [[nodiscard]] ResumeRun decision_of(Position asked, Decision decided) const {
    ResumeRun command = decision(decided);
    command.asked = asked;
    return command;
  }
};

}  // namespace signalbox
