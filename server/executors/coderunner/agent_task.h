// What a coderunner's job is told: agent.json in its job directory, written before its shim starts.
// No environment value is in it.
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
  std::vector<std::string> command;  // program and leading arguments instead of the agent's own
  std::string model;
  std::string prompt;
  std::string new_session;  // the id of a session that isn't there yet; empty: the agent's choice
  std::string resume_session;  // the id of one to go on with, or empty
  Budget budget_left;
  std::int64_t grace_ms = 0;  // for an agent to exit after its result, and between TERM and KILL
  // For mock:
  std::string station;
  std::uint32_t attempt = 1;
  Strategy strategy = Strategy::original;
  std::string goal;
  std::string input;
};
BOOST_DESCRIBE_STRUCT(AgentTask, (),
                      (schema, mode, agent, command, model, prompt, new_session, resume_session,
                       budget_left, grace_ms, station, attempt, strategy, goal, input))

// The same job gives the same task each time.
AgentTask agent_task(const Job& job);

Stored<void> write_agent_task(const std::filesystem::path& job_directory, const AgentTask& task);
Stored<AgentTask> read_agent_task(const std::filesystem::path& job_directory);

}  // namespace signalbox
