// Commands about the service itself; no client can send them. A part of command.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "domain/ids.h"
#include "domain/server_events.h"

namespace signalbox {

struct StartServer {
  std::string version;
};

struct StopServer {};

struct FinishRecovery {
  Position last_durable_position = 0;
  std::uint64_t torn_bytes = 0;
  std::vector<RecoveredItem> items;
  Digest report;
};

struct NoteClockJump {
  std::int64_t wall_ms = 0;
  std::int64_t monotonic_ms = 0;
  std::string cause;
};

}  // namespace signalbox
