// Carries changes of run roots out, so that a crash at any moment leaves the old file or the new
// one: temporary file in the same directory, fsync, rename, fsync of the directory.
//
// A run root belongs to its user, who may put anything there. So below the root no symbolic link is
// followed, and what lies in the way of a file and isn't one is renamed aside, never deleted.
#pragma once

#include <filesystem>
#include <string>

#include "server/followers/run_root/file_change.h"
#include "store/store_error.h"

namespace signalbox {

// What a server's temporary files are called after, so that another one with the same run root
// never writes into them: its machine and its `runs` (<data>/runs), which no two servers have. It
// is the same in the next life, which then writes over what a crash left.
std::string temporary_tag(const std::filesystem::path& runs);

// Does nothing where the file is as the change wants it, or the row is in the ledger already. The
// root and the directories below it are made as needed. `tag` is temporary_tag()'s.
// `full`, `not_found` or `io`. Any thread, but one at a time for each root and tag.
Stored<void> apply_change(const FileChange& change, const std::string& tag);

}  // namespace signalbox
