// The prompt of a coding agent: the station's own text, or a default for its kind of work.
#pragma once

#include <string>
#include <string_view>

#include "server/executors/executor.h"

namespace signalbox {

// Returns the prompt of an attempt: the station's `prompt` with its placeholders filled; else the
// default for `verify` or, for any other station, the default for work that changes the workspace.
std::string agent_prompt(const Job& job);

// Returns whether the prompt asks for a verdict on the work: it is the default one for `verify`.
bool asks_for_verdict(const Job& job);

enum class WorkVerdict { none, pass, fail };

// Returns the verdict that is the last line of an answer: "VERDICT: PASS" or "VERDICT: FAIL", with
// or without Markdown's marks.
WorkVerdict verdict_of(std::string_view answer);

// Returns the instruction for a strategy, as one sentence.
std::string strategy_sentence(Strategy strategy);

}  // namespace signalbox
