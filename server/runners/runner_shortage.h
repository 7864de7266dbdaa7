// Work that waits for a runner of which none is there. It waits for ever, and looks like other work
// that waits for its turn.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "domain/world.h"
#include "store/event_log.h"

namespace signalbox {

struct RunnerView;

struct RunnerShortage {
  std::int64_t since_ns = 0;  // UTC: since when the one that has waited longest does; 0: unknown
  std::string message;        // one sentence without a full stop
  std::vector<std::string> next_commands;
};

// Returns what has waited for attention_loop_overdue_ms_min or longer: ready runs that no runner
// takes, unless they wait for a slot, and cards whose worktrees are at runners that don't report.
// The cost grows with the places that ready runs ask for and with the runners, not with the runs;
// with the worktrees only while a runner doesn't report. Called on the engine's thread.
std::optional<RunnerShortage> find_runner_shortage(const World& world, const EventLog& log,
                                                   std::span<const RunnerView> runners,
                                                   std::int64_t now_ns);

}  // namespace signalbox
