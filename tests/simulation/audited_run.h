// A run, its plan and its steps as the audits of the register reconstruct them from events alone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "domain/plan.h"
#include "store/event_log.h"
#include "tests/simulation/environment.h"

namespace signalbox::simulation {

struct AuditedStep {
  std::vector<std::string> needs;
  StepStatus status = StepStatus::pending;
  std::uint32_t attempts = 0;
  std::uint32_t failures = 0;              // since the step was last opened
  Token token = 0;                         // token of the attempt under way, or 0
  bool leased = false;                     // true if an outside worker holds it
  Strategy strategy = Strategy::original;  // of the next attempt
};

struct AuditedPlan {
  PlanStatus status = PlanStatus::exploring;
  std::map<std::string, AuditedStep> steps;
};

struct AuditedRun {
  std::vector<StationDefinition> stations;
  std::size_t current = 0;
  std::vector<std::uint32_t> attempts;
  std::uint32_t failures = 0;  // of the current station
  Token holder = 0;
  Token lock = 0;            // the lock that the holder said it needs, or 0
  std::uint32_t stalls = 0;  // since its last progress
  std::string job_id;
  bool paused = false;
  bool terminal = false;
  bool failed = false;  // true if the run ended by failing
  bool cancel_requested = false;
  // Set while nobody holds the station and it can't be claimed, and while its holder asks for an
  // approval.
  std::optional<WaitReason> waiting;
  Position asked = 0;                        // of the latest event that asked for a decision
  std::optional<std::uint32_t> max_retries;  // overrides the stations' own
  Budget budget;
  Usage used;
  Token usage_of = 0;  // token of the attempt whose usage was reported last
  std::optional<AuditedPlan> plan;
  std::optional<AuditedPlan> failed_plan;  // the plan when the run failed

  [[nodiscard]] bool has_station() const { return current < stations.size(); }
  [[nodiscard]] const StationDefinition& station() const { return stations[current]; }
};

// Reports a violation: `record` contradicts the records before it.
inline void report_contradiction(Environment& environment, const Record& record,
                                 const std::string& what) {
  environment.violate("position " + std::to_string(record.position) + ", " +
                      std::string(tag_of(record.event).name) + " of " + to_string(record.stream) +
                      ": " + what);
}

}  // namespace signalbox::simulation
