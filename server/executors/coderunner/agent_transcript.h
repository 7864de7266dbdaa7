// Reads what an agent prints, line by line: events as JSON, of which only some are known. Unknown
// types and fields are ignored, so that a newer agent is understood as far as it says the same.
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

  // One line, of any bytes, without its end. False if it isn't a JSON object or an array of them;
  // an empty line is fine.
  bool line(std::string_view bytes);

  [[nodiscard]] const AgentReport& report() const { return report_; }

 protected:
  virtual void event(const boost::json::object& event) = 0;

  AgentReport report_;
};

// `claude -p`, both its formats: events one a line with a `result` as the last, or that alone.
std::unique_ptr<AgentTranscript> claude_transcript();
// `codex exec --json`.
std::unique_ptr<AgentTranscript> codex_transcript();

}  // namespace signalbox
