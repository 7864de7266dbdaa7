#include "domain/job_machine.h"

#include "domain/pipeline.h"

namespace signalbox {

bool is_job_elsewhere(const Run& run, const std::string& machine, bool has_directory) {
  if (!run.attempt || run.attempt->job_id.empty() || is_remote(run.definition())) return false;
  return run.attempt->machine.empty() ? !has_directory : run.attempt->machine != machine;
}

std::string job_elsewhere_text(const Attempt& attempt) {
  const std::string where = attempt.machine.empty() ? "a machine that the log doesn't name"
                                                    : "machine " + attempt.machine;
  return "its job was given to " + where +
         ", and this log is a copy or was restored: whether the job runs there, or has ended, "
         "can't be seen here, and it is never executed a second time without a person's word";
}

}  // namespace signalbox
