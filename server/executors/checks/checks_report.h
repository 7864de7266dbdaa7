// What the results of all checks mean for their station, and how they are told.
#pragma once

#include <string>
#include <vector>

#include "server/executors/checks/check_run.h"
#include "server/executors/declared_result.h"

namespace signalbox {

struct CheckedPlan {
  std::vector<PlannedCheck> checks;
  std::string source;  // the instructions file that they come from, or "pipeline"
};

// The file checks.json, schema checks.v1: all results, as far as they are there.
std::string checks_json(const CheckedPlan& plan, const std::vector<CheckResult>& results);

// A timeout is never told as a failure of the code: alone it is CHECKS_TIMED_OUT (timeout,
// transient), beside failures (CHECKS_FAILED, terminal) it is listed apart. A program that isn't
// there is CHECK_NOT_RUNNABLE (config).
DeclaredResult checks_verdict(const CheckedPlan& plan, const std::vector<CheckResult>& results);

// outcome_text() of a check, a timeout with its figure: "TIMEOUT after 500ms".
std::string told(const CheckDefinition& check, const CheckResult& result);

}  // namespace signalbox
