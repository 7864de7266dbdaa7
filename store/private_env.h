// The environment in which RocksDB creates its files: mode 0600 and 0700 instead of its own 0644
// and 0755, whatever the umask is.
//
// The umask can't do this: it belongs to the whole process, and jobs and git inherit it.
#pragma once

#include <memory>

namespace rocksdb {
class Env;
}

namespace signalbox {

// Returns an environment over RocksDB's default one. It must outlive the databases that use it.
std::unique_ptr<rocksdb::Env> private_env();

}  // namespace signalbox
