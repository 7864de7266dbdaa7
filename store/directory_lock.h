// The lock on a data directory: at most one writing process, a server or a command, holds its lock
// file.
#pragma once

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

// An exclusive flock(2) on a lock file, held until destruction.
class DirectoryLock {
 public:
  DirectoryLock() = default;

  // Acquires the lock without waiting, and writes the process id and `command` (one line that names
  // the new holder) into the file. Fails with `in_use`, with the holder's description in the
  // message, or with `io`. The kernel releases the lock when the process ends, however it ends;
  // jobs don't inherit it.
  static Stored<DirectoryLock> take(const std::filesystem::path& file, std::string_view command);

 private:
  explicit DirectoryLock(FileDescriptor file) : file_(std::move(file)) {}

  FileDescriptor file_;
};

// Reads the holder from a lock file. If the lock isn't held now, the result describes the last
// holder.
DirectoryHolder read_directory_holder(const std::filesystem::path& lock_file);

}  // namespace signalbox
