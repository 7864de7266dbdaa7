// One call of an agent's program, from its start until nothing of it is left.
//
// Its output is read as it comes, passed on to our own stdout and stderr (which the job's shim
// bounds) and given to a transcript. Once the transcript has its result, the program has a grace to
// exit; then it is ended with all its descendants, and the result counts.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "server/executors/coderunner/agent_transcript.h"

namespace signalbox {

struct AgentCall {
  std::vector<std::string> argv;
  std::string prompt;         // its stdin
  std::int64_t grace_ms = 0;  // to exit after the result, and between TERM and KILL
  // After each line that the transcript has read.
  std::function<void(const AgentReport& report)> on_event;
};

struct AgentEnd {
  int start_error = 0;  // errno of what kept it from starting, or 0
  std::optional<std::int32_t> exit_code;
  std::optional<std::int32_t> signal;  // that ended it, if we didn't
  bool ended_after_result = false;     // it didn't exit within its grace
  bool interrupted = false;            // we were told to stop (SIGTERM) before it ended
  bool cut_off = false;                // its output ended in the middle of a line
  std::uint64_t dropped_lines = 0;     // longer than agent_line_bytes_max
  std::string stderr_end;              // the last of it, UTF-8, at most stderr_end_bytes_max
};

inline constexpr std::size_t stderr_end_bytes_max = 2 * 1024;

// Blocks until the end. The caller has one thread, no other children, and is the subreaper of its
// descendants (become_agent_supervisor).
AgentEnd call_agent(const AgentCall& call, AgentTranscript& transcript);

// To be called once, before the first call: SIGTERM is noticed instead of obeyed, and what an agent
// leaves behind stays ours.
void become_agent_supervisor();

}  // namespace signalbox
