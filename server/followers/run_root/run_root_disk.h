// Carries out changes of run roots atomically: a crash at any moment leaves the old file or the new
// one. Steps: temporary file in the same directory, fsync, rename, fsync of the directory.
//
// A run root belongs to its user, who may put anything there. So no symbolic link below the root is
// followed, nor below a configured directory in which the root lies, and a non-empty directory in
// the place of a file is renamed aside, never deleted.
#pragma once

#include <filesystem>
#include <string>

#include "server/followers/run_root/file_change.h"
#include "server/followers/run_root/run_root_place.h"
#include "store/store_error.h"

namespace signalbox {

// Returns the part of temporary files' names that identifies this server, so that two servers with
// the same run root never write to one temporary file. It is derived from the host name and from
// `runs` (<data>/runs), a pair that no two servers share. It is the same after a restart, so the
// next process overwrites what a crash left.
std::string temporary_tag(const std::filesystem::path& runs);

// Carries out `change`. Does nothing if the file has that content already, or the ledger has the
// rows already. Creates the root and the directories below it as needed. `tag` is the result of
// temporary_tag(), `rule` has the configured directories; nullptr: there are none. Fails with
// `full`, `not_found` or `io`. Blocks. Any thread, but only one at a time for each root and tag.
Stored<void> apply_change(const FileChange& change, const std::string& tag,
                          const RunRootRule* rule = nullptr);

}  // namespace signalbox
