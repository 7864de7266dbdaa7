// Classifies the errors that agents report: by what they report as data, and by their texts only
// where there is no data.
#pragma once

#include <string>

#include "domain/station_events.h"
#include "server/executors/coderunner/agent_report.h"

namespace signalbox {

struct AgentFailure {
  ErrorClass error_class = ErrorClass::terminal;
  std::string code;
  std::string message;
};

// Returns the failure for a report with an error, of class `quota` if a usage limit was met. An
// error of no known kind is terminal, and its message says that it isn't known.
AgentFailure classify_error(const AgentReport& report);

// Returns whether an error message that isn't part of a report, such as a program's stderr, names
// credentials that are missing or wrong, or trouble of the service or the network.
bool names_bad_credentials(const std::string& text);
bool names_service_trouble(const std::string& text);

}  // namespace signalbox
