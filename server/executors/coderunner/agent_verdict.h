// What the end of an agent's call means for its station: a pure function of what the agent told,
// how its program ended, and the time. Success has one form: a result without an error, from a
// program that didn't contradict it.
#pragma once

#include <cstdint>

#include "server/executors/coderunner/agent_process.h"
#include "server/executors/coderunner/agent_task.h"
#include "server/executors/declared_result.h"

namespace signalbox {

// `now_ns` is UTC; by it the agent's word about the end of a usage limit is understood. The codes
// are listed in JOBS.md.
DeclaredResult agent_verdict(const AgentTask& task, const AgentReport& report, const AgentEnd& end,
                             bool resumed, std::int64_t now_ns);

// The agent refused to go on with a session because it doesn't have it (any more).
bool session_is_gone(const AgentReport& report, const AgentEnd& end);

}  // namespace signalbox
