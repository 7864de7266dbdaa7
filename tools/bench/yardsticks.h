// What this machine does, bare: the disk, and RocksDB itself with as little as can be done with the
// same bytes.
#pragma once

#include <chrono>
#include <cstdint>
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

// Writes the entries of the log under `data` into a fresh database in `directory`, in synced
// batches of `batch_events` events. Returns the events a second.
Called<double> rewrite_raw(const std::filesystem::path& data,
                           const std::filesystem::path& directory, std::uint64_t batch_events);

// Iterates over all entries of the log under `data` without reading their bytes. Returns the events
// a second.
Called<double> scan_raw(const std::filesystem::path& data);

}  // namespace signalbox
