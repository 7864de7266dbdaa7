// Commands about the service itself: the alternatives of Command (command.h) that concern its
// starts, stops, recovery, clocks and pauses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>

#include "domain/ids.h"
#include "domain/server_events.h"

namespace signalbox {

// Keeps stations' attempts, cards' runs and merges from beginning until ResumeService.
struct PauseService {
  std::optional<std::string> reason;
};
BOOST_DESCRIBE_STRUCT(PauseService, (), (reason))

struct ResumeService {
  std::optional<std::string> reason;
  std::optional<Position> seen = {};  // as in UnblockCard, of the pause
};
BOOST_DESCRIBE_STRUCT(ResumeService, (), (reason, seen))

// Sent by the service itself; no client can send them.

struct StartServer {
  std::string version;
};

struct StopServer {};

struct FinishRecovery {
  Position last_durable_position = 0;
  std::uint64_t torn_bytes = 0;
  std::vector<RecoveredItem> items;
  Digest report;  // of the crash report
};

// Reports that the wall clock and the monotonic clock diverged, as in ClockJumped.
struct NoteClockJump {
  std::int64_t wall_ms = 0;
  std::int64_t monotonic_ms = 0;
  std::string cause;
};

// Reports that this server has taken the cell's log, as in CellTaken.
struct NoteCellTaken {
  std::string cell;
  std::string server;
  std::uint64_t epoch = 0;
  std::string cause;
};

// Reports that a projection was computed from the log again, as in ProjectionRebuilt.
struct NoteProjectionRebuilt {
  std::string projection;
  std::string reason;
  Position through = 0;
  std::int64_t took_ms = 0;
};

}  // namespace signalbox
