// One server a data directory: the lock file that it holds while it lives.
#pragma once

#include <filesystem>

#include "store/file_descriptor.h"
#include "store/store_error.h"

namespace signalbox {

class DirectoryLock {
 public:
  DirectoryLock() = default;

  // Takes the lock at once or gives `in_use`, with the process id that the holder left in the file.
  // The system lets go of it when the process ends, however it ends; jobs don't inherit it.
  static Stored<DirectoryLock> take(const std::filesystem::path& file);

 private:
  explicit DirectoryLock(FileDescriptor file) : file_(std::move(file)) {}

  FileDescriptor file_;
};

}  // namespace signalbox
