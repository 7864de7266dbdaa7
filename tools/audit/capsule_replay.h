// `signalbox replay run.capsule`: what a run's capsule holds, on a machine that has nothing else.
#pragma once

#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "tools/cli/call_error.h"
#include "tools/cli/command_line.h"
#include "tools/cli/terminal.h"

namespace signalbox {

struct CapsuleReplay {
  std::string file;  // empty: it is a log that is replayed
  std::vector<std::string> keys;
  std::string artifacts_to;  // a directory for them, or empty
};

void add_capsule_options(ToolCommand command, CapsuleReplay& options);

// {origin, size, records, artifacts, signature_checked, run}; `run` as `run.get` gives it.
Called<boost::json::object> replay_capsule(const CapsuleReplay& options);
std::string view_capsule(const boost::json::object& result, const Terminal& terminal);

}  // namespace signalbox
