// How long the MANIFEST of the read models' database is at least.
//
// RocksDB takes a MANIFEST that was cut short for a shorter history and deletes the tables that the
// rest of it named, so that rows are silently gone. The length is therefore noted beside it after
// every change of it, and compared before the database is opened. It isn't synced: read models are
// disposable, and after a power loss a length that doesn't fit only causes a rebuild.
#pragma once

#include <filesystem>

#include "store/store_error.h"

namespace signalbox {

// Notes the present MANIFEST and its length in `directory`. A failure is ignored: the last note is
// still true. Any thread, but one at a time.
void note_manifest_length(const std::filesystem::path& directory);

// Fails with `damaged`, naming the file, if the MANIFEST is shorter than was noted, is older than
// the one that was noted, or is gone. Succeeds if nothing was noted yet.
Stored<void> check_manifest_length(const std::filesystem::path& directory);

}  // namespace signalbox
