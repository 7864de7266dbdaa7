// What this disk does, bare: the yardstick of everything durable.
#pragma once

#include <chrono>
#include <filesystem>

#include "tools/cli/call_error.h"

namespace signalbox {

struct DiskSpeed {
  double per_second = 0;  // append + fdatasync, one after the other
  double p50_us = 0;
};

// Appends records of 300 bytes to a new file in `directory`, with an fdatasync after each.
Called<DiskSpeed> measure_disk(const std::filesystem::path& directory,
                               std::chrono::nanoseconds duration);

}  // namespace signalbox
