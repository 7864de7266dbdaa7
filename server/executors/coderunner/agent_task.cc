#include "server/executors/coderunner/agent_task.h"

#include "server/executors/coderunner/agent_prompt.h"
#include "server/executors/coderunner/agent_session.h"
#include "server/platform/stored_json.h"

namespace signalbox {
namespace {

std::filesystem::path agent_file(const std::filesystem::path& job_directory) {
  return job_directory / "agent.json";
}

}  // namespace

AgentTask agent_task(const Job& job) {
  const CoderunnerDefinition own = job.definition.coderunner.value_or(CoderunnerDefinition{});
  AgentTask task;
  task.mode = own.mode.value_or(CoderunnerMode::mock);
  task.agent = own.agent;
  task.command = job.definition.command;
  task.model = own.model;
  task.prompt = agent_prompt(job);
  task.asks_for_verdict = asks_for_verdict(job);
  task.resume_session = session_of(own.agent, job.resume_ref);
  // Also if the session to continue is gone: claude never begins one under an id that it had.
  if (own.agent == Agent::claude) task.new_session = to_string(job.span_id);
  task.budget_left = job.budget_left;
  task.grace_ms = job.definition.cancel_grace_ms;
  task.station = job.definition.name;
  task.attempt = job.attempt;
  task.strategy = job.strategy;
  task.goal = job.goal;
  task.input = job.input;
  return task;
}

Stored<void> write_agent_task(const std::filesystem::path& job_directory, const AgentTask& task) {
  return write_stored_json(agent_file(job_directory), task);
}

Stored<AgentTask> read_agent_task(const std::filesystem::path& job_directory) {
  return read_stored_json<AgentTask>(agent_file(job_directory));
}

}  // namespace signalbox
