// Runs an agent's program once, until none of its processes is left.
//
// Its output is read as it arrives, forwarded to this process's stdout and stderr (which the job's
// shim bounds), and passed to a transcript. Once the transcript has a result, the program has a
// grace period to exit, or, while it has tasks in the background, until it has been silent for
// long. Then it is ended with all its descendants, and the result counts.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "server/executors/coderunner/agent_transcript.h"

namespace signalbox {

// Time without output after which tasks in the background no longer keep an agent that has a
// result.
inline constexpr std::int64_t agent_silence_ms_max = 10LL * 60 * 1000;

struct AgentCall {
  std::vector<std::string> argv;
  std::string prompt;         // content of its stdin
  std::int64_t grace_ms = 0;  // to exit after the result; also between TERM and KILL
  std::int64_t silence_ms = agent_silence_ms_max;
  // Called when the program isn't there; returns whether to look again. Empty: not.
  std::function<bool()> look_again;
  // Called after each line that the transcript has read.
  std::function<void(const AgentReport& report)> on_event;
};

struct AgentEnd {
  int start_error = 0;  // errno of the failed start, or 0
  std::optional<std::int32_t> exit_code;
  std::optional<std::int32_t> signal;  // the signal that ended it, unless this process sent it
  bool ended_after_result = false;     // it didn't exit within its grace and was ended
  bool interrupted = false;            // this process received SIGTERM before the program ended
  bool cut_off = false;                // its output ended with an incomplete line
  std::uint64_t dropped_lines = 0;     // lines longer than agent_line_bytes_max
  std::uint64_t cut_strings = 0;       // strings longer than agent_string_bytes_max
  std::string stderr_end;              // end of its stderr, UTF-8, at most stderr_end_bytes_max
};

inline constexpr std::size_t stderr_end_bytes_max = 2 * 1024;

// Runs the program and blocks until its end. The caller must be single-threaded, without other
// children, and have called become_agent_supervisor().
AgentEnd call_agent(const AgentCall& call, AgentTranscript& transcript);

// Prepares this process; call it once, before the first call_agent(). SIGTERM no longer ends this
// process but is reported as `interrupted`. The process becomes the reaper of its descendants, so
// that processes left by an agent are found.
void become_agent_supervisor();

}  // namespace signalbox
