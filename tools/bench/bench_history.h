// Fills a log by driving the engine without a socket, with runs of five stations.
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
  std::uint64_t events = 0;     // position to reach, at least
  std::size_t open_runs = 128;  // concurrent runs, left open at the end
  bool end_all = false;         // end the open runs at the end
};

// Decides, evolves and appends in batches of bench_batch_events; a batch is decided while the one
// before it is written. `log` must be empty. Returns the events per second.
Called<double> make_history(EventLog& log, const HistoryPlan& history);
// Does the same for a log whose state is `world`, with times from `clock`.
Called<double> continue_history(EventLog& log, const HistoryPlan& history, World world,
                                const Clock& clock);

// Writes a snapshot of the state at the end of the log under `data`, in the place and format of the
// server's snapshots.
Called<void> write_snapshot_at_tail(const std::filesystem::path& data);

}  // namespace signalbox
