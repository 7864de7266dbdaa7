#include "tests/crash/small_disk.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <array>

#include "store/file_descriptor.h"
#include "tests/fixtures/own_namespaces.h"

namespace signalbox::test {
std::string enter_own_mounts() {
  if (std::string why = enter_own_namespaces(CLONE_NEWNS); !why.empty()) return why;
  // Mounts made from here on are invisible to other processes.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return not_possible("mount(MS_PRIVATE)");
  }
  return {};
}

SmallDisk::~SmallDisk() {
  if (!directory_.empty()) ::umount2(directory_.c_str(), MNT_DETACH);
}

std::string SmallDisk::mount(const std::filesystem::path& directory, std::uint64_t bytes) {
  if (std::string why = enter_own_mounts(); !why.empty()) return why;
  const std::string options = "mode=0700,size=" + std::to_string(bytes);
  if (::mount("tmpfs", directory.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) != 0) {
    return not_possible("mount(tmpfs)");
  }
  directory_ = directory;
  return {};
}

bool SmallDisk::fill() const {
  const FileDescriptor file(
      ::open(ballast().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file) return false;
  static constexpr std::array<char, 4096> page{};
  for (;;) {
    if (::write(file.get(), page.data(), page.size()) > 0) continue;
    if (errno != EINTR) return errno == ENOSPC;
  }
}

void SmallDisk::make_space() const {
  std::error_code ignored;
  std::filesystem::remove(ballast(), ignored);
}

}  // namespace signalbox::test
