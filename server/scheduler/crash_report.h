// The report of a crash (schema crash_report.v1): what was in flight, what is known about it, what
// becomes of it, what to do. One JSON object, an artifact; its digest is in RecoveryFinished.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "server/scheduler/crash_verdicts.h"

namespace signalbox {

struct CrashFacts {
  std::uint64_t incarnation = 0;  // that found it
  std::int64_t created_at_ns = 0;
  Position last_durable_position = 0;  // of the log as the crash left it
  std::uint64_t torn_bytes = 0;        // that were cut off behind it
};

// At most this many verdicts are listed; the counts are of all.
inline constexpr std::size_t crash_report_items_max = 10'000;

// Ends with a newline.
std::string crash_report(const CrashFacts& facts, std::span<const CrashVerdict> verdicts);

}  // namespace signalbox
