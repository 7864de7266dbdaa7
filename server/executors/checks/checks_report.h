// Turns the results of all checks into the verdict of their station and into the file checks.json.
#pragma once

#include <string>
#include <vector>

#include "server/executors/checks/check_run.h"
#include "server/executors/declared_result.h"

namespace signalbox {

struct CheckedPlan {
  std::vector<PlannedCheck> checks;
  std::string source;            // the instructions file that names the checks, or "pipeline"
  std::string base_commit = {};  // whose file that is; empty: the workspace's
  // Files that decide about checks and aren't those of the base, sorted.
  std::vector<std::string> changed = {};
  std::string changed_unknown = {};  // why they aren't known, or empty
};

// Returns the content of the file checks.json, schema checks.v1, with the results so far.
std::string checks_json(const CheckedPlan& plan, const std::vector<CheckResult>& results);

// Returns the station's result. A timeout never counts as a failure of the code: alone it is
// CHECKS_TIMED_OUT (timeout, transient); beside failures (CHECKS_FAILED, terminal) it is listed
// separately. A missing program is CHECK_NOT_RUNNABLE (config).
DeclaredResult checks_verdict(const CheckedPlan& plan, const std::vector<CheckResult>& results);

// Returns outcome_text() or, for a timeout, "TIMEOUT after 500ms".
std::string describe_result(const CheckDefinition& check, const CheckResult& result);

}  // namespace signalbox
