// The lock on a data directory: at most one writing process, a server or a command, holds its lock
// file.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

#include "store/file_descriptor.h"
#include "store/store_error.h"

namespace signalbox {

// The holder of a lock, as it described itself in the lock file. Only a hint for people; both
// fields may be empty.
struct DirectoryHolder {
  std::string process_id;
  std::string command;  // e.g. "signalbox serve"

  friend bool operator==(const DirectoryHolder&, const DirectoryHolder&) = default;
};

// An exclusive flock(2) on a lock file or a directory, held until destruction.
class DirectoryLock {
 public:
  DirectoryLock() = default;
  DirectoryLock(DirectoryLock&&) noexcept = default;
  DirectoryLock& operator=(DirectoryLock&& other) noexcept;
  // Releases the lock, also where a child that has not begun its program yet shares the descriptor.
  ~DirectoryLock() { release(); }

  // Acquires the lock and writes the process id and `command` (one line that names the new holder)
  // into the file. Blocks while another process holds it, for at most `wait_max`. Fails with
  // `in_use`, with the holder's description in the message, or with `io`. The kernel releases the
  // lock when the process ends, however it ends. Jobs don't inherit it, but a child that was being
  // started when its parent was killed holds it until it begins its program.
  static Stored<DirectoryLock> take(const std::filesystem::path& file, std::string_view command,
                                    std::chrono::milliseconds wait_max = {});
  // Acquires a lock on the directory itself, for one that may hold no file of ours and whose files
  // are replaced: nothing is written. Fails as take() does, without waiting and without a holder.
  static Stored<DirectoryLock> take_directory(const std::filesystem::path& directory);

 private:
  explicit DirectoryLock(FileDescriptor file) : file_(std::move(file)) {}
  void release();

  FileDescriptor file_;
};

// Reads the holder from a lock file. If the lock isn't held now, the result describes the last
// holder.
DirectoryHolder read_directory_holder(const std::filesystem::path& lock_file);

}  // namespace signalbox
