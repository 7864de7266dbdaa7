#include "server/executors/checks/checks_task.h"

#include "server/platform/stored_json.h"

namespace signalbox {
namespace {

std::filesystem::path checks_file(const std::filesystem::path& job_directory) {
  return job_directory / "checks.json";
}

}  // namespace

ChecksTask checks_task(const Job& job) {
  const ChecksDefinition own = job.definition.checks.value_or(ChecksDefinition{});
  ChecksTask task;
  task.checks = own.checks;
  task.instructions = own.instructions;
  task.grace_ms = job.definition.cancel_grace_ms;
  return task;
}

Stored<void> write_checks_task(const std::filesystem::path& job_directory, const ChecksTask& task) {
  return write_stored_json(checks_file(job_directory), task);
}

Stored<ChecksTask> read_checks_task(const std::filesystem::path& job_directory) {
  return read_stored_json<ChecksTask>(checks_file(job_directory));
}

}  // namespace signalbox
