// The log of a simulation on a real disk, where the tools of the product read it.
#pragma once

#include <filesystem>

#include "store/event_log.h"

namespace signalbox::simulation {

// Writes all commits of `log` into a new log in `data_directory`. Fails if there is a log, as
// RocksEventLog does, and with `dropped` if records are gone. Blocks until they are durable.
Stored<void> copy_log(const EventLog& log, const std::filesystem::path& data_directory);

}  // namespace signalbox::simulation
