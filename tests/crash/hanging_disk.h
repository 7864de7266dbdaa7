// A disk that hangs in the kernel, as a dead network file system does: a FUSE file system that
// nobody serves. Whatever touches it waits until the disk goes, or until its process is killed.
#pragma once

#include <filesystem>
#include <string>

#include "store/file_descriptor.h"

namespace signalbox::test {

class HangingDisk {
 public:
  HangingDisk() = default;
  HangingDisk(const HangingDisk&) = delete;
  HangingDisk& operator=(const HangingDisk&) = delete;
  // Unmounts the disk; those who wait for it get an error.
  ~HangingDisk();

  // Mounts the disk over `directory`, which must exist; the process has mounts of its own
  // (small_disk.h). Returns "", or the reason why it isn't possible here.
  std::string mount(const std::filesystem::path& directory);
  // Has whatever touches it fail from then on, as after the end of the program that served it.
  void die() { device_ = {}; }

 private:
  FileDescriptor device_;
  std::filesystem::path directory_;
};

}  // namespace signalbox::test
