// A disk that is watched at the level of the system calls: all operations on the files of one
// directory are recorded in a journal, and can be made to fail.
//
// power_loss_disk.cc replaces libc's open, write, fsync, rename and so on in the test program. So
// one journal holds, in order, the operations of RocksDB, of the anchor, the lock and the repair of
// write-ahead logs, and of std::filesystem. power_loss_image.h computes from it what a power loss
// leaves. A wrapped rocksdb::FileSystem would see RocksDB's operations only.
//
// Writes through stdio and mapped memory aren't recorded; no code here writes that way.
// power_loss_test.cc compares the journal with the directory, so that such writes would be noticed.
//
// Syncs are recorded and not executed: durability depends on the journal alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

namespace signalbox::test {

// One entry of the journal.
struct DiskOperation {
  enum class Kind {
    nothing,  // reserves space, or starts to write back: no promise
    create,
    make_directory,
    remove,
    rename,
    write,
    truncate,
    sync,
    failed_sync,
    sync_directory,
  };
  Kind kind = Kind::nothing;
  int file = -1;            // number of the file; a rename keeps it
  std::string path;         // create, …, rename and sync_directory: relative to the root
  std::string new_path;     // rename
  std::uint64_t place = 0;  // write: the offset; truncate: the new size
  std::string bytes;        // write
};

// Lets the n-th operation from now on fail, or all from the n-th on.
struct DiskFault {
  std::size_t operation = 0;  // 1 for the next
  int error = 0;              // EIO; or ENOSPC, which affects only operations that need space
  bool lasting = false;
};

class WatchedDisk {
 public:
  using Journal = std::vector<DiskOperation>;

  // Watches the files under `root` until it is destroyed. The present files are durable; the
  // journal begins with operations that create them. Roots must not be nested.
  explicit WatchedDisk(std::filesystem::path root);
  ~WatchedDisk();
  WatchedDisk(const WatchedDisk&) = delete;
  WatchedDisk& operator=(const WatchedDisk&) = delete;

  [[nodiscard]] const std::filesystem::path& root() const { return root_; }

  // Set and clear the fault.
  void fail(DiskFault fault);
  void heal();
  // From now on syncs report success and make nothing durable.
  void lie_about_syncs();

  // Return the numbers of operations in the journal and of faults so far.
  [[nodiscard]] std::size_t operations() const;
  [[nodiscard]] std::size_t faults() const;
  // Returns the journal. Not synchronized: no thread uses the disk meanwhile.
  [[nodiscard]] const Journal& journal() const { return journal_; }

 private:
  friend class SystemCalls;

  void adopt(const std::filesystem::path& directory);
  // Returns the error that the next operation fails with, or 0.
  int strike(bool needs_space);
  void note(DiskOperation operation) { journal_.push_back(std::move(operation)); }

  std::filesystem::path root_;
  Journal journal_;
  std::map<std::string, int> files_;  // numbers of the existing files, by path relative to the root
  int files_count_ = 0;
  std::set<int> unsynced_;  // files with bytes written since their latest sync
  std::size_t began_ = 0;   // operations in the journal that create the initial files
  std::size_t until_fault_ = 0;
  std::optional<DiskFault> fault_;
  std::size_t faults_ = 0;
  bool lies_ = false;
};

}  // namespace signalbox::test
