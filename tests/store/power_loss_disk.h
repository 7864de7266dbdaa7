// The disk under one directory, watched where every program meets it: at the system calls.
//
// power_loss_disk.cc takes the place of libc's open, write, fsync, rename and so on in the test
// program, so one journal holds, in their order, the operations of RocksDB, of our anchor, lock and
// surgery on write-ahead logs, and of std::filesystem; power_loss_image.h tells from it what a
// power loss leaves. A wrapped rocksdb::FileSystem would see RocksDB's share only.
//
// What isn't seen: stdio and mapped memory, through which nobody writes here. power_loss_test.cc
// holds the journal against the directory, so that it is noticed if one begins to.
//
// Syncs are noted, not made: what isn't durable here is a question of the journal alone.
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
  int file = -1;            // a file's number, whatever its name is
  std::string path;         // of create, …, rename and sync_directory, below the root
  std::string new_path;     // of rename
  std::uint64_t place = 0;  // of write: where; of truncate: the new size
  std::string bytes;        // of write
};

// The n-th operation from now on fails, or all from the n-th on.
struct DiskFault {
  std::size_t operation = 0;  // 1 for the next
  int error = 0;              // EIO; or ENOSPC, which only strikes what needs space
  bool lasting = false;
};

class WatchedDisk {
 public:
  using Journal = std::vector<DiskOperation>;

  // What lies in `root` is durable; the journal begins with its creation. One root within another
  // isn't watched.
  explicit WatchedDisk(std::filesystem::path root);
  ~WatchedDisk();
  WatchedDisk(const WatchedDisk&) = delete;
  WatchedDisk& operator=(const WatchedDisk&) = delete;

  [[nodiscard]] const std::filesystem::path& root() const { return root_; }

  void fail(DiskFault fault);
  void heal();
  // From now on syncs say that all is well and do nothing.
  void lie_about_syncs();

  // How many operations there were since the beginning, and since then how many faults.
  [[nodiscard]] std::size_t operations() const;
  [[nodiscard]] std::size_t faults() const;
  // While nobody uses the disk.
  [[nodiscard]] const Journal& journal() const { return journal_; }

 private:
  friend class SystemCalls;

  void adopt(const std::filesystem::path& directory);
  // The error to fail with, or 0.
  int strike(bool needs_space);
  void note(DiskOperation operation) { journal_.push_back(std::move(operation)); }

  std::filesystem::path root_;
  Journal journal_;
  std::map<std::string, int> files_;  // those there are, by path below the root
  int files_count_ = 0;
  std::set<int> unsynced_;  // files with bytes that no sync has seen yet
  std::size_t began_ = 0;   // operations in the journal that only tell what was there
  std::size_t until_fault_ = 0;
  std::optional<DiskFault> fault_;
  std::size_t faults_ = 0;
  bool lies_ = false;
};

}  // namespace signalbox::test
