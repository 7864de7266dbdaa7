// The coding agent of the mode `mock`: no program, no network, the same result for the same task.
//
// The run's input may request another end, or files to write (JOBS.md, "Coding agents"):
// {"mock": {"outcome": "failed", "error_class": "quota", "quota_reset_in_ms": 500, "attempts": 1}}
#pragma once

#include <filesystem>

#include "server/executors/coderunner/agent_task.h"
#include "server/executors/declared_result.h"

namespace signalbox {

// Returns the result and writes `mock_result.json` into `artifacts`. Where the input asks for it,
// also writes files in the current directory, which is the workspace. Blocks for the requested
// delay. Errors are failures in the result: MOCK_INVALID (config) if `mock` isn't as described in
// JOBS.md, STORAGE_FAILED (transient).
DeclaredResult run_mock_agent(const AgentTask& task, const std::filesystem::path& artifacts);

}  // namespace signalbox
