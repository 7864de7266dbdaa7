// Ends processes that aren't our children: TERM, grace, KILL, until none is found any more.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "server/platform/process_table.h"

namespace signalbox {

// How long KILL is repeated before the survivors are named and given up.
inline constexpr std::int64_t kill_patience_ms = 10'000;

// `find` gives those that are still there. Blocks until it gives none, or `grace_ms` and then
// `kill_patience_ms` have passed. Gives the pids of those that would not go.
std::vector<std::int32_t> end_processes(const std::function<std::vector<ProcessIdentity>()>& find,
                                        std::int64_t grace_ms);

}  // namespace signalbox
