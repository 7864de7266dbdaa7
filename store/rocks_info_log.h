// RocksDB's own diary, LOG in the directory of each database: warnings and errors, for people.
//
// RocksDB's is written like its data files, and it aborts the process that writes to it again after
// a write failed: on a full disk, the second warning ends the server. This one passes over what it
// can't write.
#pragma once

#include <filesystem>
#include <memory>

namespace rocksdb {
class Logger;
}

namespace signalbox {

// Begins a new one in `directory`; that of the opening before is LOG.old. At most 1 MiB each.
std::shared_ptr<rocksdb::Logger> rocks_info_log(const std::filesystem::path& directory);

}  // namespace signalbox
