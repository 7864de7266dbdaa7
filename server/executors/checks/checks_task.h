// The task of a checks station's job: the file checks.json in its job directory, written before its
// shim starts.
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
  std::vector<CheckDefinition> checks;  // empty: the instructions file names them
  std::string instructions;             // file in the workspace; empty: the default files
  std::int64_t grace_ms = 0;            // between TERM and KILL
};
BOOST_DESCRIBE_STRUCT(ChecksTask, (), (schema, checks, instructions, grace_ms))

// Returns the job's task. The same job gives the same task.
ChecksTask checks_task(const Job& job);

// Write (atomically) and read the file. Errors: those of stored_json.h.
Stored<void> write_checks_task(const std::filesystem::path& job_directory, const ChecksTask& task);
Stored<ChecksTask> read_checks_task(const std::filesystem::path& job_directory);

}  // namespace signalbox
