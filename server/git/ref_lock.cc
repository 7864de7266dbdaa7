#include "server/git/ref_lock.h"

#include <system_error>

#include "domain/limits.h"
#include "server/platform/atomic_file.h"

namespace signalbox {
namespace {

std::filesystem::path lock_of(const std::filesystem::path& common_directory,
                              const std::string& ref) {
  return common_directory / (ref + ".lock");
}

}  // namespace

void remove_stale_lock(const std::filesystem::path& common_directory, const std::string& ref) {
  if (common_directory.empty()) return;
  std::error_code ignored;
  std::filesystem::remove(lock_of(common_directory, ref), ignored);
}

void remove_stale_lock_to(const std::filesystem::path& common_directory, const std::string& ref,
                          const std::string& commit) {
  const auto wanted = read_regular_file(lock_of(common_directory, ref), limits::name_bytes_max);
  if (wanted && *wanted == commit + "\n") remove_stale_lock(common_directory, ref);
}

}  // namespace signalbox
