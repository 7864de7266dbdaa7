// `signalbox replay run.capsule`: verifies and shows a run's capsule, without any log.
#pragma once

#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "tools/audit/run_capsule.h"
#include "tools/cli/call_error.h"
#include "tools/cli/command_line.h"
#include "tools/cli/terminal.h"

namespace signalbox {

struct CapsuleReplay {
  std::string file;  // empty: a log is replayed instead
  std::vector<std::string> keys;
  std::string artifacts_to;  // directory to write artifacts to, or empty
};

// Adds the options of `replay` that apply to a capsule.
void add_capsule_options(ToolCommand command, CapsuleReplay& options);

// Returns the run of a capsule as `run.get` shows it. The paths of artifacts are below
// `artifacts_to`, or empty. Fails if the records aren't those of a run.
Called<boost::json::object> capsule_run(const Capsule& capsule, const std::string& artifacts_to);

// Returns {origin, size, records, artifacts, signature_checked, run}, with `run` as in run.get.
// Fails with TAMPERED, or with a usage error if the file is no capsule.
Called<boost::json::object> replay_capsule(const CapsuleReplay& options);
std::string view_capsule(const boost::json::object& result, const Terminal& terminal);

}  // namespace signalbox
