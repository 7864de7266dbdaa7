// Decides what the end of an agent's call means for its station: a pure function of the agent's
// report, the end of its program, and the time. There is one form of success: a result without an
// error, from a program whose exit doesn't contradict it.
#pragma once

#include <cstdint>

#include "server/executors/coderunner/agent_process.h"
#include "server/executors/coderunner/agent_task.h"
#include "server/executors/declared_result.h"

namespace signalbox {

// What the attempt has used (session_usage.h).
struct AttemptUsage {
  Usage usage;
  bool is_estimate = false;
};

// Returns the station's result. `now_ns` is UTC; relative times of a usage limit's end are resolved
// with it. JOBS.md lists the error codes.
DeclaredResult agent_verdict(const AgentTask& task, const AgentReport& report,
                             const AttemptUsage& attempt, const AgentEnd& end, bool resumed,
                             std::int64_t now_ns);

// Returns whether the agent refused to continue a session because the session doesn't exist (any
// more), or can't be continued for good.
bool session_is_gone(const AgentReport& report, const AgentEnd& end);

}  // namespace signalbox
