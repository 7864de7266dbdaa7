// The prompt of a coding agent: the station's own text, or a default for its kind of work.
#pragma once

#include <string>

#include "server/executors/executor.h"

namespace signalbox {

// Returns the prompt of an attempt: the station's `prompt` with its placeholders filled; else the
// default for `verify` or, for any other station, the default for work that changes the workspace.
std::string agent_prompt(const Job& job);

// The default prompt of `verify` asks for this as the last line if the goal isn't reached. The
// station then fails, whatever status the agent reports.
inline constexpr const char* failed_verdict_line = "VERDICT: FAIL";

// Returns the instruction for a strategy, as one sentence.
std::string strategy_sentence(Strategy strategy);

}  // namespace signalbox
