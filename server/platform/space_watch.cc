#include "server/platform/space_watch.h"

#include <sys/statvfs.h>

#include <chrono>
#include <utility>

namespace signalbox {
namespace {

constexpr std::chrono::seconds check_interval{1};

}  // namespace

bool SpaceWatch::has_space(const std::filesystem::path& directory) {
  struct statvfs space {};
  return statvfs(directory.c_str(), &space) == 0 &&
         std::uint64_t{space.f_bavail} * space.f_frsize >= mebibytes_needed * 1024 * 1024;
}

void SpaceWatch::wait(std::function<void()> enough) {
  timer_.expires_after(check_interval);
  timer_.async_wait(
      [this, enough = std::move(enough)](const boost::system::error_code& error) mutable {
        if (error) return;
        if (has_space(directory_)) return enough();
        wait(std::move(enough));
      });
}

}  // namespace signalbox
