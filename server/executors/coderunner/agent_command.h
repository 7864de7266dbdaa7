// The command lines that run a coding agent without a person at the terminal.
//
// claude: `claude -p --output-format stream-json --verbose`, with --session-id or --resume. codex:
// `codex exec --json … [resume ID] -`. Both read the prompt from stdin: an argument would be
// visible to every user of the machine, and its length is bounded by the kernel.
#pragma once

#include <string>
#include <vector>

#include "server/executors/coderunner/agent_task.h"

namespace signalbox {

// Returns the argv. With `resume` it continues the task's session; else it begins a new one.
// `openai_base_url`, if not empty, is the address of codex's model service. codex without a command
// of the station writes its last message into `last_message_file`, unless that is empty.
std::vector<std::string> agent_command(const AgentTask& task, bool resume,
                                       const std::string& openai_base_url = {},
                                       const std::string& last_message_file = {});

// Returns the names of the server's environment variables that this agent's job gets if they are
// set, in addition to those that the station names: the agent's credentials and configuration
// directory.
const std::vector<std::string>& agent_variables(Agent agent);

// Returns the command that installs the agent, for an error message.
std::string install_command(Agent agent);

}  // namespace signalbox
