// Audits the pipelines that the runs of cards begin with: those of their projects, with the time
// that the policy in force gives to agents. Shares no code with domain/admission. H7
#pragma once

#include <map>
#include <string>

#include "tests/simulation/audited_run.h"

namespace signalbox::simulation {

class CardRunAudit {
 public:
  explicit CardRunAudit(Environment& environment) : environment_(environment) {}

  // Audits the next durable record.
  void read(const Record& record);

 private:
  // The timeout of a station that doesn't say another, and of agents without a policy.
  static constexpr std::int64_t usual_timeout_ms = 30 * 60 * 1000;
  struct Project {
    PipelineDefinition pipeline;
    std::int64_t agent_timeout_ms = usual_timeout_ms;
  };

  void read_start(const Record& record, const RunStarted& started);
  void check(const Record& record, const Project& project, const PipelineDefinition& pipeline);

  Environment& environment_;
  std::map<std::string, Project> projects_;
  std::map<CardId, std::string> project_of_card_;
  std::map<RunId, Project> due_;  // runs that start next: their project as it was when they began
  std::map<Digest, PipelineDefinition> pipelines_;
};

}  // namespace signalbox::simulation
