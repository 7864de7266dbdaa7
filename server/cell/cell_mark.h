// What a data directory knows of the cell that its log is a replica of.
//
// The file `cell` has the cell's name: whoever wrote to such a log alone would take it out of the
// cell for good. The file `cell_seen` has how far the cell's log went when this server last noted
// it, which its replica may not reach: a database that ends before has lost acknowledged records.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "store/store_error.h"

namespace signalbox {

// Marks the directory, durably, unless it is marked so.
Stored<void> mark_as_replica(const std::filesystem::path& data, const std::string& cell);

// Returns the name of the cell that the directory's log is a replica of; nullopt if it is of none.
Stored<std::optional<std::string>> read_mark(const std::filesystem::path& data);

// Fails with `unsupported`, and says what to do, if the directory's log is a replica of another
// cell than this, or of any if `cell` is empty.
Stored<void> require_replica_of(const std::filesystem::path& data, const std::string& cell);

// Notes, durably, that the server of this directory is one of the cell and has seen that position
// acknowledged.
Stored<void> note_seen(const std::filesystem::path& data, const std::string& cell,
                       Position position);

// Returns what was noted last; nullopt if the server was never one of this cell. Fails with
// `damaged` if the file isn't one of these.
Stored<std::optional<Position>> read_seen(const std::filesystem::path& data,
                                          const std::string& cell);
// Returns the path of the file `cell_seen`.
std::filesystem::path seen_file(const std::filesystem::path& data);

}  // namespace signalbox
