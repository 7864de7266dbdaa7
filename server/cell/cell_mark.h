// The mark of a data directory whose log is a replica of a cell's: the file `cell`, with the cell's
// name. Whoever wrote to such a log alone would take it out of the cell for good.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "store/store_error.h"

namespace signalbox {

// Marks the directory, durably, unless it is marked so.
Stored<void> mark_as_replica(const std::filesystem::path& data, const std::string& cell);

// Fails with `unsupported`, and says what to do, if the directory's log is a replica of another
// cell than this, or of any if `cell` is empty.
Stored<void> require_replica_of(const std::filesystem::path& data, const std::string& cell);

}  // namespace signalbox
