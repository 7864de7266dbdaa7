#include "tests/crash/hanging_disk.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace signalbox::test {

HangingDisk::~HangingDisk() {
  if (!directory_.empty()) ::umount2(directory_.c_str(), MNT_DETACH);
}

std::string HangingDisk::mount(const std::filesystem::path& directory) {
  device_ = FileDescriptor(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
  if (!device_) return "/dev/fuse: " + std::generic_category().message(errno);
  const std::string options =
      "fd=" + std::to_string(device_.get()) + ",rootmode=40000,user_id=0,group_id=0";
  if (::mount("fuse", directory.c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()) != 0) {
    return "mount(fuse): " + std::generic_category().message(errno);
  }
  directory_ = directory;
  return {};
}

}  // namespace signalbox::test
