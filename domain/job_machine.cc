#include "domain/job_machine.h"

#include "domain/pipeline.h"
#include "domain/placement.h"

namespace signalbox {

bool is_job_elsewhere(const Run& run, const std::string& machine, bool has_directory) {
  if (!run.attempt || run.attempt->job_id.empty() || is_remote(run.definition())) return false;
  const std::string& given_to = run.attempt->machine;
  if (is_runner(given_to)) return false;
  return given_to.empty() ? !has_directory : given_to != machine;
}

std::string job_elsewhere_text(const Attempt& attempt) {
  const std::string where = attempt.machine.empty() ? "a machine that the log doesn't name"
                                                    : "machine " + attempt.machine;
  return "its job was given to " + where +
         ", and this log is a copy or was restored: whether the job runs there, or has ended, "
         "can't be seen here, and it is never executed a second time without a person's word";
}

}  // namespace signalbox
