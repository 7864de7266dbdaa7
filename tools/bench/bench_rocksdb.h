// RocksDB itself, doing as little as can be done with the same bytes: the yardstick of the log.
#pragma once

#include <cstdint>
#include <filesystem>

#include "tools/cli/call_error.h"

namespace signalbox {

// Writes the entries of the log under `data` into a fresh database in `directory`, in synced
// batches of `batch_events` events. Gives the events a second.
Called<double> rewrite_raw(const std::filesystem::path& data,
                           const std::filesystem::path& directory, std::uint64_t batch_events);

// Iterates over all entries of the log under `data`, looking at every byte of none. Gives the
// events a second.
Called<double> scan_raw(const std::filesystem::path& data);

}  // namespace signalbox
