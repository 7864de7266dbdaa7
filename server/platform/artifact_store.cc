#include "server/platform/artifact_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>

#include "domain/limits.h"
#include "domain/nanoseconds.h"
#include "domain/try.h"
#include "server/platform/atomic_file.h"
#include "store/file_descriptor.h"
#include "store/sha256.h"

namespace signalbox {

ArtifactStore::ArtifactStore(std::filesystem::path root) : root_(std::move(root)) {}

std::filesystem::path ArtifactStore::path_of(const Digest& sha256) const {
  const std::string hex = to_hex(sha256);
  return root_ / "sha256" / hex.substr(0, 2) / hex.substr(2);
}

Stored<Artifact> ArtifactStore::put(const std::string& name, const std::string& media_type,
                                    std::string_view content) {
  Artifact artifact{name, media_type, content.size(), sha256(content)};
  const std::filesystem::path path = path_of(artifact.sha256);
  const std::shared_lock<std::shared_mutex> not_removing(removal_);
  // An existing blob is compared with the content, so that storing it again repairs a damaged one.
  // Its time is that of its latest use, see remove_older(); one that can't be set is written anew.
  const auto present = get(artifact.sha256);
  if (present && *present == content && ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0) == 0) {
    return artifact;
  }

  TRY(make_directories(path.parent_path()));
  TRY(write_file_atomically(path, content));
  return artifact;
}

Stored<std::string> ArtifactStore::get(const Digest& sha256) const {
  const std::filesystem::path path = path_of(sha256);
  auto content = read_regular_file(path, limits::artifact_bytes_max);
  if (!content) return content;
  if (signalbox::sha256(*content) != sha256) {
    return store_failure(StoreError::Kind::damaged,
                         "the content of " + path.string() + " is not what was stored",
                         path.string());
  }
  return content;
}

Stored<std::uint64_t> ArtifactStore::remove_older(const Digest& sha256, std::int64_t before_ns) {
  constexpr std::uint64_t block_bytes = 512;
  const std::filesystem::path path = path_of(sha256);
  const std::unique_lock<std::shared_mutex> removing(removal_);
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return 0;
  const std::int64_t stored_ns = status.st_mtim.tv_sec * ns_per_s + status.st_mtim.tv_nsec;
  if (!S_ISREG(status.st_mode) || stored_ns >= before_ns) return 0;
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return tl::unexpected(system_error("remove", path));
  }
  return static_cast<std::uint64_t>(status.st_blocks) * block_bytes;
}

}  // namespace signalbox
