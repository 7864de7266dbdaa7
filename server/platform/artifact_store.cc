#include "server/platform/artifact_store.h"

#include <fcntl.h>

#include "domain/limits.h"
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
  // An existing blob is compared with the content, so that storing it again repairs a damaged one.
  if (const auto present = get(artifact.sha256); present && *present == content) return artifact;

  const std::filesystem::path path = path_of(artifact.sha256);
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

}  // namespace signalbox
