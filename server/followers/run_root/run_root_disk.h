// Carries out changes of run roots atomically: a crash at any moment leaves the old file or the new
// one. Steps: temporary file in the same directory, fsync, rename, fsync of the directory.
//
// A run root belongs to its user, who may put anything there. So no symbolic link below the root is
// followed, nor below a guarded directory in which the root lies, and a non-empty directory in
// the place of a file is renamed aside, never deleted.
#pragma once

#include <filesystem>
#include <string>

#include "server/followers/run_root/file_change.h"
#include "server/followers/run_root/run_root_place.h"
#include "store/file_descriptor.h"
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

// A file of a run root: its open directory, and its name there.
struct RootFile {
  FileDescriptor directory;
  std::string name;
  std::filesystem::path shown;  // for messages
};

// Finds the file `path`, which is relative to the root and need not be there, by the way that a
// write takes to it: no link below the root, or below a guarded directory, is followed. Whoever
// reads it in the open directory reads where the service writes, wherever the names that lead there
// lead by then. `rule` is as for apply_change(). Fails with `not_found` if its directory isn't
// there, or `io`. Blocks. Any thread.
Stored<RootFile> find_root_file(const std::string& root, const std::string& path,
                                const RunRootRule* rule);

// Makes the directory, which is a run root or lies in one, and its missing parents, by that way,
// too. `rule` is as for apply_change(). Fails with `full` or `io`. Blocks. Any thread.
Stored<void> make_run_directory(const std::filesystem::path& directory, const RunRootRule* rule);

// Opens a run root that is there, by the way that a write takes to it: no link below a configured
// directory is followed. `rule` is as for apply_change(). Fails with `not_found` or `io`. Blocks.
// Any thread.
Stored<FileDescriptor> open_run_root(const std::string& root, const RunRootRule* rule);

// How a file compares with the content that the service wrote.
enum class WrittenFile {
  missing,
  changed,  // it has other content, or isn't a regular file, or can't be read
  same,
};

// Removes the file of `change`, a write, if it still has the content that was written, and returns
// what was found there. It is compared and removed in one open directory, so a link that somebody
// puts in the place of a directory meanwhile leads to no other file. If `is_dry`, only compares.
// `rule` is as for apply_change(). Fails with `io`. Blocks. Any thread.
Stored<WrittenFile> remove_written_file(const FileChange& change, const RunRootRule* rule,
                                        bool is_dry);

// Removes the directory, which is relative to the root, and those around it, as far as they are
// empty, but not the root. Others stay, so failures don't matter. `rule` is as for apply_change().
// Blocks. Any thread.
void remove_empty_directories(const std::string& root, std::filesystem::path directory,
                              const RunRootRule* rule);

}  // namespace signalbox
