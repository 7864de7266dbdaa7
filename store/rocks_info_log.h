// RocksDB's info log: LOG in the directory of each database, with warnings and errors, for people.
//
// RocksDB's own logger writes like its data files, and aborts the process that writes again after a
// failed write: on a full disk, the second warning ends the server. This logger drops lines that it
// can't write.
#pragma once

#include <filesystem>
#include <memory>

namespace rocksdb {
class Logger;
}

namespace signalbox {

// Opens a new LOG in `directory`; the one of the opening before becomes LOG.old. Each has at most 1
// MiB.
std::shared_ptr<rocksdb::Logger> rocks_info_log(const std::filesystem::path& directory);

}  // namespace signalbox
