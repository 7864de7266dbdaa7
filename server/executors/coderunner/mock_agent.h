// The coding agent of mode `mock`: no program, no network, the same result for the same task.
//
// A run's input may ask for another end or for work to show:
//   {"mock": {"outcome": "failed", "error_class": "quota", "quota_reset_in_ms": 500, "attempts":
//   1}}
#pragma once

#include <filesystem>

#include "server/executors/coderunner/agent_task.h"
#include "server/executors/declared_result.h"

namespace signalbox {

// Leaves `mock_result.json` in `artifacts` and, where the input asks for it, files in the current
// directory, which is the workspace. MOCK_INVALID (config) if `mock` isn't as JOBS.md has it.
DeclaredResult run_mock_agent(const AgentTask& task, const std::filesystem::path& artifacts);

}  // namespace signalbox
