// Parses an agent's output line by line: events as JSON, of which only some types are known.
// Unknown types and fields are ignored, so that newer versions of an agent can still be read.
#pragma once

#include <memory>
#include <string_view>

#include <boost/json/object.hpp>

#include "server/executors/coderunner/agent_report.h"

namespace signalbox {

class AgentTranscript {
 public:
  AgentTranscript() = default;
  AgentTranscript(const AgentTranscript&) = delete;
  AgentTranscript& operator=(const AgentTranscript&) = delete;
  virtual ~AgentTranscript() = default;

  // Reads one line of any bytes, without its line end. Returns false if it is neither empty nor a
  // JSON object or array.
  bool line(std::string_view bytes);

  [[nodiscard]] const AgentReport& report() const { return report_; }

 protected:
  virtual void event(const boost::json::object& event) = 0;

  AgentReport report_;
};

// Returns the parser of `claude -p`, for both its output formats: one event per line with a
// `result` as the last, or only the `result`.
std::unique_ptr<AgentTranscript> claude_transcript();
// Returns the parser of `codex exec --json`.
std::unique_ptr<AgentTranscript> codex_transcript();

}  // namespace signalbox
