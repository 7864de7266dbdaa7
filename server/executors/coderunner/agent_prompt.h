// What a coding agent is asked: the station's own text, or a default for its kind of work.
#pragma once

#include <string>

#include "server/executors/executor.h"

namespace signalbox {

// The prompt of an attempt: the station's `prompt` with its placeholders filled, or the default for
// `verify` or, for any other station, the one for work that changes the workspace.
std::string agent_prompt(const Job& job);

// A default prompt asks the agent to end with this line where the work isn't good: then the station
// fails, whatever the agent's envelope says.
inline constexpr const char* failed_verdict_line = "VERDICT: FAIL";

// One sentence of instruction.
std::string strategy_sentence(Strategy strategy);

}  // namespace signalbox
