// How an agent's command line interface is called without a person in front of it.
//
// claude: `claude -p --output-format stream-json --verbose`, with --session-id or --resume. codex:
// `codex exec --json … [resume ID] -`. Both read the prompt from stdin: an argument would be seen
// by every user of the machine and is bounded by the kernel.
#pragma once

#include <string>
#include <vector>

#include "server/executors/coderunner/agent_task.h"

namespace signalbox {

// The argv. With `resume` the session of the task is gone on with; else a new one is begun.
std::vector<std::string> agent_command(const AgentTask& task, bool resume);

// Environment variables of the server that this agent's job gets where they are there, beside those
// that the station names: its own credentials and configuration directory.
const std::vector<std::string>& agent_variables(Agent agent);

// How to get the program, for an error message.
std::string how_to_install(Agent agent);

}  // namespace signalbox
