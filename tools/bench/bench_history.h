// Makes a log by driving the engine without a socket: runs that pass five stations.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "domain/world.h"
#include "server/platform/clock.h"
#include "store/event_log.h"
#include "tools/cli/call_error.h"

namespace signalbox {

inline constexpr std::uint64_t bench_batch_events = 512;

struct HistoryPlan {
  std::uint64_t events = 0;     // at least so many
  std::size_t open_runs = 128;  // under way at the same time, and left open at the end
  bool end_all = false;         // none is left open
};

// Decides, evolves and appends in batches of bench_batch_events; a batch is decided while the one
// before it is written. `log` must be empty. Gives the events a second.
Called<double> make_history(EventLog& log, const HistoryPlan& history);
// Goes on with a log whose state is `world`, at the clock's times.
Called<double> continue_history(EventLog& log, const HistoryPlan& history, World world,
                                const Clock& clock);

// A snapshot at the end of the log under `data`, as the server's own follower would have left it.
Called<void> write_snapshot_at_tail(const std::filesystem::path& data);

}  // namespace signalbox
