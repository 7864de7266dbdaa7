// The answer of a command of this program that runs in a process of its own (own_command.h).
#pragma once

#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "domain/error.h"
#include "server/platform/own_command.h"

namespace signalbox {

// What a refusal says if the process gave no answer.
struct OwnAnswerTexts {
  std::string consequence;  // such as "nothing was redacted: "; the reason follows
  std::string field;        // of the request, that a wrong command line comes from
  std::vector<std::string> next_commands;
};

// Runs the command, whose words include `--json`, and returns the `result` that it printed, or its
// error. OVERLOADED if it couldn't be started now, took too long or too much memory,
// SHUTTING_DOWN if it was stopped, INTERNAL if it ended without an answer. Blocks; any thread.
Decided<boost::json::object> answer_of_own_command(const OwnCommand& command,
                                                   const OwnAnswerTexts& texts);

}  // namespace signalbox
