// What a checks station's job is told: checks.json in its job directory, written before its shim
// starts.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>

#include "server/executors/executor.h"
#include "store/store_error.h"

namespace signalbox {

struct ChecksTask {
  std::string schema = "checks_task.v1";
  std::vector<CheckDefinition> checks;  // none: those of the instructions file
  std::string instructions;             // a file in the workspace, or empty for the usual ones
  std::int64_t grace_ms = 0;            // between TERM and KILL
};
BOOST_DESCRIBE_STRUCT(ChecksTask, (), (schema, checks, instructions, grace_ms))

ChecksTask checks_task(const Job& job);

Stored<void> write_checks_task(const std::filesystem::path& job_directory, const ChecksTask& task);
Stored<ChecksTask> read_checks_task(const std::filesystem::path& job_directory);

}  // namespace signalbox
