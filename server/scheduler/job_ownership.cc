#include "server/scheduler/job_ownership.h"

#include <utility>

#include "domain/check.h"
#include "domain/job_machine.h"

namespace signalbox {

JobOwnership::JobOwnership(std::string machine,
                           std::function<bool(const std::string& job_id)> has_directory)
    : machine_(std::move(machine)), has_directory_(std::move(has_directory)) {}

bool JobOwnership::has_directory(const Run& run) const {
  SIGNALBOX_CHECK(run.attempt.has_value());
  const Attempt& attempt = *run.attempt;
  return attempt.machine.empty() && !attempt.job_id.empty() && has_directory_(attempt.job_id);
}

bool JobOwnership::is_elsewhere(const Run& run) const {
  return is_job_elsewhere(run, machine_, has_directory(run));
}

}  // namespace signalbox
