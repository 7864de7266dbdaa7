// What the audits of the register know of a run, by its events alone.
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
  std::uint32_t failures = 0;              // since it was last opened
  Token token = 0;                         // of the attempt under way, or 0
  bool leased = false;                     // to an outside worker
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
  Token lock = 0;            // that the holder said it needs, or 0
  std::uint32_t stalls = 0;  // since it got on
  std::string job_id;
  bool paused = false;
  bool terminal = false;
  bool failed = false;  // that is how it ended
  bool cancel_requested = false;
  std::optional<WaitReason> waiting;         // nobody holds the station, and it can't be claimed
  std::optional<std::uint32_t> max_retries;  // instead of what its stations say
  Budget budget;
  Usage used;
  Token usage_of = 0;  // whose attempt's usage was reported last
  std::optional<AuditedPlan> plan;
  std::optional<AuditedPlan> failed_plan;  // as it was when the run failed

  [[nodiscard]] bool has_station() const { return current < stations.size(); }
  [[nodiscard]] const StationDefinition& station() const { return stations[current]; }
};

// The record is at odds with those before it.
inline void find_wrong(Environment& environment, const Record& record, const std::string& what) {
  environment.violate("position " + std::to_string(record.position) + ", " +
                      std::string(tag_of(record.event).name) + " of " + to_string(record.stream) +
                      ": " + what);
}

}  // namespace signalbox::simulation
