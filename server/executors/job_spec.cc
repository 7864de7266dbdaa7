#include "server/executors/job_spec.h"

#include "server/platform/stored_json.h"

namespace signalbox {

Stored<void> write_job_spec(const std::filesystem::path& path, const JobSpec& spec) {
  return write_stored_json(path, spec);
}

Stored<JobSpec> read_job_spec(const std::filesystem::path& path) {
  return read_stored_json<JobSpec>(path);
}

}  // namespace signalbox
