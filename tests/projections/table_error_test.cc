// What an error of RocksDB means for the read models.
#include <gtest/gtest.h>

#include <rocksdb/status.h>

#include "projections/table_database.h"

namespace signalbox {
namespace {

StoreError::Kind kind_of_status(const rocksdb::Status& status) {
  return table_error(status, "/data/projections").kind;
}

// G3: a disk that fails at the lock file isn't another process.
TEST(TableError, IsInUseOnlyIfAnotherHoldsTheLock) {
  EXPECT_EQ(kind_of_status(rocksdb::Status::IOError("While lock file: /data/projections/LOCK",
                                                    "Resource temporarily unavailable")),
            StoreError::Kind::in_use);
  EXPECT_EQ(kind_of_status(rocksdb::Status::IOError(
                "while open a file for lock: /data/projections/LOCK", "Input/output error")),
            StoreError::Kind::io);
  EXPECT_EQ(kind_of_status(rocksdb::Status::NoSpace("/data/projections/000005.sst")),
            StoreError::Kind::full);
}

}  // namespace
}  // namespace signalbox
