// The speed of this machine for comparison: the disk alone, and RocksDB alone with the same bytes.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>

#include "tools/cli/call_error.h"

namespace signalbox {

struct DiskSpeed {
  double per_second = 0;  // pairs of append and fdatasync, in sequence
  double p50_us = 0;
};

// Appends records of 300 bytes to a new file in `directory`, with an fdatasync after each, for
// `duration`.
Called<DiskSpeed> measure_disk(const std::filesystem::path& directory,
                               std::chrono::nanoseconds duration);

// Writes the entries of the log under `data` into a fresh database in `directory`, in synced
// batches of `batch_events` events. Returns the events per second.
Called<double> rewrite_raw(const std::filesystem::path& data,
                           const std::filesystem::path& directory, std::uint64_t batch_events);

// Iterates over all entries of the log under `data` without reading their bytes. Returns the events
// a second.
Called<double> scan_raw(const std::filesystem::path& data);

}  // namespace signalbox
