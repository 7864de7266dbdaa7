// The id of the machine and data directory that jobs are given to. It distinguishes a log that was
// copied or restored elsewhere from the one whose jobs run here.
//
// It is in the file `machine_id` of the data directory, apart from `log/` and `anchor`, with what a
// copy changes: the file's own inode and birth time, its device, the directory's path, and
// /etc/machine-id. Each start makes the file anew, so that a sync from a backup replaces it.
#pragma once

#include <filesystem>
#include <string>

#include "domain/ids.h"
#include "store/store_error.h"

namespace signalbox {

struct MachineId {
  std::string id;           // a UUID
  std::string copied_from;  // the id that a copied file had, or empty
  std::string replaced;     // why the file that was there counts for nothing, or empty
  // The log's last position when the id was made: what was in progress by then may still be, for a
  // service that had the log before. 0: the log began here.
  Position since = 0;
};

// Returns the data directory's id, and makes its file anew. Makes a new id, durably and with mode
// 0600, if there is none, if the file isn't one of these, or if it was copied: by itself or with
// the whole directory, here or to another machine. It stays the same when the directory is moved
// within its file system, or when the file system gets another device number at a boot. Blocks on
// the disk.
//
// `position` is the log's last one, for a new id.
Stored<MachineId> machine_id(const std::filesystem::path& data, Position position = 0);

}  // namespace signalbox
