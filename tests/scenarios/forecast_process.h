// The process in which a forecast is made (`what_if.run`).
#pragma once

#include <algorithm>
#include <optional>

#include "server/platform/process_table.h"

namespace signalbox {

// Returns the process of the forecast that a process of this program has made now, or nullopt.
inline std::optional<ProcessIdentity> forecast_process(pid_t program) {
  for (const ProcessIdentity& each : descendants_of(program)) {
    const auto words = arguments_of(each.pid);
    if (std::find(words.begin(), words.end(), "--what-if") != words.end()) return each;
  }
  return std::nullopt;
}

inline bool has_ended(const ProcessIdentity& process) {
  const auto found = read_process(process.pid);
  return !found || found->zombie || found->identity != process;
}

}  // namespace signalbox
