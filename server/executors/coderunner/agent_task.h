// The task of a coderunner's job: the file agent.json in its job directory, written before its shim
// starts. It contains no environment values.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>

#include "server/executors/executor.h"
#include "store/store_error.h"

namespace signalbox {

struct AgentTask {
  std::string schema = "agent_task.v1";
  CoderunnerMode mode = CoderunnerMode::mock;
  Agent agent = Agent::claude;
  std::vector<std::string> command;  // program and first arguments instead of the agent's own
  std::string model;
  std::string prompt;
  bool asks_for_verdict = false;  // the answer has to end in one
  std::string new_session;        // id of the session to create; empty: the agent chooses it
  std::string resume_session;     // id of the session to continue, or empty
  Budget budget_left;
  std::int64_t grace_ms = 0;  // for an agent to exit after its result; also between TERM and KILL
  // Used by the mode `mock`:
  std::string station;
  std::uint32_t attempt = 1;
  Strategy strategy = Strategy::original;
  std::string goal;
  std::string input;
};
BOOST_DESCRIBE_STRUCT(AgentTask, (),
                      (schema, mode, agent, command, model, prompt, asks_for_verdict, new_session,
                       resume_session, budget_left, grace_ms, station, attempt, strategy, goal,
                       input))

// Returns the job's task. The same job gives the same task.
AgentTask agent_task(const Job& job);

// Write (atomically) and read the file. Errors: those of stored_json.h.
Stored<void> write_agent_task(const std::filesystem::path& job_directory, const AgentTask& task);
Stored<AgentTask> read_agent_task(const std::filesystem::path& job_directory);

}  // namespace signalbox
