#include "server/scheduler/job_ownership.h"

#include <utility>

#include "domain/check.h"
#include "domain/remote_work.h"

namespace signalbox {

JobOwnership::JobOwnership(std::string machine,
                           std::function<bool(const std::string& job_id)> has_directory)
    : machine_(std::move(machine)), has_directory_(std::move(has_directory)) {}

bool JobOwnership::is_elsewhere(const Run& run) const {
  SIGNALBOX_CHECK(run.attempt && !run.attempt->job_id.empty());
  if (is_remote(run.definition())) return false;
  const Attempt& attempt = *run.attempt;
  return attempt.machine.empty() ? !has_directory_(attempt.job_id) : attempt.machine != machine_;
}

std::string job_elsewhere_text(const Attempt& attempt) {
  const std::string where = attempt.machine.empty() ? "a machine that the log doesn't name"
                                                    : "machine " + attempt.machine;
  return "its job was given to " + where +
         ", and this log is a copy or was restored: whether the job runs there, or has ended, "
         "can't "
         "be seen here, and it is never executed a second time without a person's word";
}

}  // namespace signalbox
