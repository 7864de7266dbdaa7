#include "server/executors/coderunner/agent_command.h"

#include <cstdio>

#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>

namespace signalbox {
namespace {

void add(std::vector<std::string>& argv, std::initializer_list<std::string> words) {
  argv.insert(argv.end(), words);
}

// Returns dollars as a decimal number, exact to a microdollar, so that it never exceeds what is
// left.
std::string dollars(std::int64_t microusd) {
  char text[32];
  std::snprintf(text, sizeof text, "%lld.%06lld", static_cast<long long>(microusd / 1'000'000),
                static_cast<long long>(microusd % 1'000'000));
  return text;
}

std::vector<std::string> claude_command(const AgentTask& task, bool resume) {
  std::vector<std::string> argv = task.command;
  // The permissions are a default; a station's own `command` brings its own. acceptEdits alone
  // denies the project's tests, which the prompt asks for.
  if (argv.empty()) {
    argv = {"claude", "--permission-mode", "acceptEdits", "--allowedTools", "Bash"};
  }
  add(argv, {"-p", "--output-format", "stream-json", "--verbose"});
  if (resume) {
    add(argv, {"--resume", task.resume_session});
  } else {
    add(argv, {"--session-id", task.new_session});
  }
  if (!task.model.empty()) add(argv, {"--model", task.model});
  if (task.budget_left.turns > 0) {
    add(argv, {"--max-turns", std::to_string(task.budget_left.turns)});
  }
  if (task.budget_left.cost_microusd > 0) {
    add(argv, {"--max-budget-usd", dollars(task.budget_left.cost_microusd)});
  }
  return argv;
}

std::vector<std::string> codex_command(const AgentTask& task, bool resume,
                                       const std::string& base_url,
                                       const std::string& last_message_file) {
  std::vector<std::string> argv = task.command;
  const bool own = argv.empty();
  if (own) argv = {"codex"};
  // Options of `exec` must precede `resume`, which doesn't accept all of them.
  add(argv, {"exec", "--json", "--skip-git-repo-check"});
  if (own) add(argv, {"--sandbox", "workspace-write"});
  if (own && !last_message_file.empty()) {
    add(argv, {"--output-last-message", last_message_file});
  }
  // codex has this setting, but ignores the variable. A TOML string is written like one of JSON.
  if (!base_url.empty()) {
    add(argv, {"-c", "openai_base_url=" + boost::json::serialize(boost::json::string(base_url))});
  }
  if (!task.model.empty()) add(argv, {"--model", task.model});
  if (resume) add(argv, {"resume", task.resume_session});
  argv.emplace_back("-");
  return argv;
}

}  // namespace

std::vector<std::string> agent_command(const AgentTask& task, bool resume,
                                       const std::string& openai_base_url,
                                       const std::string& last_message_file) {
  switch (task.agent) {
    case Agent::claude:
      return claude_command(task, resume);
    case Agent::codex:
      return codex_command(task, resume, openai_base_url, last_message_file);
  }
  return {};
}

const std::vector<std::string>& agent_variables(Agent agent) {
  static const std::vector<std::string> claude = {"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN",
                                                  "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN",
                                                  "CLAUDE_CONFIG_DIR"};
  static const std::vector<std::string> codex = {"CODEX_API_KEY", "CODEX_HOME", "OPENAI_API_KEY",
                                                 "OPENAI_BASE_URL"};
  return agent == Agent::claude ? claude : codex;
}

std::string install_command(Agent agent) {
  return agent == Agent::claude ? "npm install -g @anthropic-ai/claude-code"
                                : "npm install -g @openai/codex";
}

}  // namespace signalbox
