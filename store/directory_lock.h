// One writer a data directory, a server or a command: the lock file that it holds while it lives.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "store/file_descriptor.h"
#include "store/store_error.h"

namespace signalbox {

// Who holds a lock, as it left it in the file; both may be empty. Only a hint for people.
struct DirectoryHolder {
  std::string process_id;
  std::string command;  // such as "signalbox serve"

  friend bool operator==(const DirectoryHolder&, const DirectoryHolder&) = default;
};

class DirectoryLock {
 public:
  DirectoryLock() = default;

  // Takes the lock at once or gives `in_use`, with what the holder left in the file. `command` is
  // who takes it, in one line. The system lets go of it when the process ends, however it ends;
  // jobs don't inherit it.
  static Stored<DirectoryLock> take(const std::filesystem::path& file, std::string_view command);

 private:
  explicit DirectoryLock(FileDescriptor file) : file_(std::move(file)) {}

  FileDescriptor file_;
};

// Of a lock that is held: what is in the file of one that isn't is about who held it last.
DirectoryHolder read_directory_holder(const std::filesystem::path& lock_file);

}  // namespace signalbox
