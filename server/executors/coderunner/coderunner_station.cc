#include "server/executors/coderunner/coderunner_station.h"

#include <sysexits.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>

#include "server/executors/coderunner/agent_command.h"
#include "server/executors/coderunner/agent_process.h"
#include "server/executors/coderunner/agent_session.h"
#include "server/executors/coderunner/agent_task.h"
#include "server/executors/coderunner/agent_verdict.h"
#include "server/executors/coderunner/codex_rollout.h"
#include "server/executors/coderunner/mock_agent.h"
#include "server/executors/coderunner/session_usage.h"
#include "server/executors/declared_result.h"
#include "server/executors/job_directory.h"
#include "server/platform/atomic_file.h"
#include "server/platform/clock.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

std::unique_ptr<AgentTranscript> transcript_of(Agent agent) {
  switch (agent) {
    case Agent::claude:
      return claude_transcript();
    case Agent::codex:
      return codex_transcript();
  }
  return {};
}

// Writes the session's ref as soon as the agent reports another session than the known one.
class SessionRecorder {
 public:
  SessionRecorder(const AgentTask& task, const std::filesystem::path& job_directory, bool resume)
      : task_(task), job_directory_(job_directory) {
    known_ = resume ? task.resume_session : task.new_session;
  }

  void on_report(const AgentReport& report) {
    if (!report.session.empty()) record(report.session);
  }

  void record(const std::string& session) {
    if (session.empty() || session == known_) return;
    known_ = session;
    const auto written = write_learned_session(job_directory_, session_ref(task_.agent, known_));
    if (!written)
      std::fprintf(stderr, "the session is not kept: %s\n", written.error().message.c_str());
  }

 private:
  const AgentTask& task_;
  const std::filesystem::path& job_directory_;
  std::string known_;
};

// Keeps the account of the session's usage, so that what was printed by then is known if this
// process is killed.
class UsageRecorder {
 public:
  UsageRecorder(const AgentTask& task, const std::filesystem::path& job_directory, bool resume)
      : task_(task), job_directory_(job_directory), resume_(resume) {
    if (resume) before_ = account_before(job_directory, task.attempt, task.resume_session);
  }

  void on_report(const AgentReport& report) {
    const std::optional<TokenCounts> total = total_of(report);
    if (report.seen == kept_ && report.turns == kept_turns_ && total == kept_total_) return;
    kept_ = report.seen;
    kept_turns_ = report.turns;
    kept_total_ = total;
    if (total) return static_cast<void>(declare_total(report, total));
    SessionAccount account = before_;
    account.session = report.session;
    account.undeclared = report.seen;
    account.undeclared_turns = report.turns;
    keep(account);
  }

  // Returns what the attempt has used, and keeps the account in which that is counted.
  AttemptUsage declare(const AgentReport& report) {
    return declare_total(report, total_of(report));
  }

 private:
  // Returns the agent's own total, or that of its thread's file if the turn hasn't ended with one;
  // nothing if there is neither.
  std::optional<TokenCounts> total_of(const AgentReport& report) {
    const bool has_file = task_.agent == Agent::codex && !report.session.empty();
    if (report.reported || !has_file) return report.reported;
    if (!rollout_ || rollout_->thread() != report.session) {
      rollout_.emplace(codex_home_of_job(), report.session);
    }
    std::optional<TokenCounts> total = rollout_->total();
    // Lower than it was: it isn't the total of the session.
    if (total && total->tokens() < before_.agents_total.tokens()) total.reset();
    return total;
  }

  AttemptUsage declare_total(AgentReport report, const std::optional<TokenCounts>& total) {
    if (!report.reported && total) {
      report.reported = total;
      report.is_total_of_session = true;
      report.is_total_unfinished = !report.has_result;
    }
    SettledCall settled = settle_call(report, before_, resume_);
    settled.account.session = report.session;
    settled.account.used = settled.counts;
    settled.account.used_turns = report.turns;
    keep(settled.account);
    return {usage_of(settled.counts, report.turns),
            settled.is_estimate || report.has_uncounted_threads};
  }

  void keep(const SessionAccount& account) const {
    if (const auto written = write_account(job_directory_, account); !written) {
      std::fprintf(stderr, "the session's usage is not kept: %s\n",
                   written.error().message.c_str());
    }
  }

  const AgentTask& task_;
  const std::filesystem::path& job_directory_;
  const bool resume_;
  SessionAccount before_;
  std::optional<CodexRollout> rollout_;
  TokenCounts kept_;
  std::int64_t kept_turns_ = 0;
  std::optional<TokenCounts> kept_total_;
};

std::filesystem::path last_message_path(const std::filesystem::path& job_directory) {
  return job_directory / "last_message";
}

// Returns the last message that codex has written into its file; empty if there is none. What it
// prints may lack that message: it drops events if their reader is slow.
std::string last_message_in(const std::filesystem::path& job_directory) {
  const std::filesystem::path path = last_message_path(job_directory);
  const auto file = open_job_file(path, agent_string_bytes_max);
  if (!file) return {};
  const auto bytes = read_regular_file(file->get(), path, agent_string_bytes_max);
  if (!bytes) return {};
  std::string text = with_replacements(*bytes);
  std::erase(text, '\0');
  return trimmed(text).empty() ? std::string() : text;
}

// Returns a function that has a missing program looked for again for a few seconds: npm takes the
// old version away before the new one is there.
std::function<bool()> look_for_program() {
  constexpr int looks = 20;
  return [looks_left = looks]() mutable {
    if (looks_left-- == 0) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    return true;
  };
}

DeclaredResult run_agent(const AgentTask& task, const std::filesystem::path& job_directory) {
  become_agent_supervisor();
  bool resume = !task.resume_session.empty();
  for (;;) {
    const auto transcript = transcript_of(task.agent);
    SessionRecorder session(task, job_directory, resume);
    UsageRecorder usage(task, job_directory, resume);
    AgentCall call;
    const char* const base_url = std::getenv("OPENAI_BASE_URL");
    call.argv = agent_command(task, resume, base_url != nullptr ? base_url : "",
                              last_message_path(job_directory));
    call.prompt = task.prompt;
    call.grace_ms = task.grace_ms;
    if (task.command.empty()) call.look_again = look_for_program();
    call.on_event = [&session, &usage](const AgentReport& report) {
      session.on_report(report);
      usage.on_report(report);
    };
    const AgentEnd end = call_agent(call, *transcript);
    AgentReport report = transcript->report();
    if (resume && session_is_gone(report, end)) {
      std::fputs("the session can't be gone on with; beginning anew\n", stderr);
      resume = false;
      // The refusal has a session id of its own, which no later call could resume.
      session.record(task.new_session);
      continue;
    }
    if (task.agent == Agent::codex && report.has_result && !report.is_error) {
      const std::string message = last_message_in(job_directory);
      if (!message.empty()) report.final_text = message;
    }
    return agent_verdict(task, report, usage.declare(report), end, resume, SystemClock().wall_ns());
  }
}

DeclaredResult not_available(const std::string& message) {
  return declared_failure({Outcome::failed, ErrorClass::config, "MODE_NOT_AVAILABLE", message});
}

DeclaredResult run(const AgentTask& task, const std::filesystem::path& job_directory) {
  switch (task.mode) {
    case CoderunnerMode::mock:
      return run_mock_agent(task, JobDirectory{job_directory}.artifacts());
    case CoderunnerMode::process:
      return run_agent(task, job_directory);
    case CoderunnerMode::modal:
      return not_available("a coding agent in mode modal is a remote job, which isn't run here");
  }
  return not_available("unknown mode");
}

}  // namespace

int run_coderunner(const std::filesystem::path& job_directory) {
  const auto task = read_agent_task(job_directory);
  if (!task) {
    std::fprintf(stderr, "signalbox coderunner: %s\n", task.error().message.c_str());
    return EX_IOERR;
  }
  const std::filesystem::path artifacts = JobDirectory{job_directory}.artifacts();
  // Documents what the agent was asked.
  auto written = write_file_atomically(artifacts / "prompt.md", task->prompt);
  if (written) {
    written = write_declared_result(artifacts / "result.json", run(*task, job_directory));
  }
  if (written) return 0;
  std::fprintf(stderr, "signalbox coderunner: %s\n", written.error().message.c_str());
  return EX_IOERR;
}

}  // namespace signalbox
