#include "server/platform/artifact_store.h"

#include "domain/try.h"
#include "store/sha256.h"

namespace signalbox {

Stored<Artifact> ArtifactStore::put(const std::string& name, const std::string& media_type,
                                    std::string_view content) {
  Artifact artifact{name, media_type, content.size(), sha256(content)};
  TRY(put_content(artifact.sha256, content));
  return artifact;
}

Stored<bool> ArtifactStore::confirm(const Digest& sha256, std::uint64_t bytes) {
  if (TRY(size_of(sha256)) != bytes) return false;
  const auto content = get(sha256);
  if (!content && content.error().kind == StoreError::Kind::damaged) return false;
  if (!content && content.error().kind == StoreError::Kind::not_found) return false;
  if (!content) return tl::unexpected(content.error());
  TRY(put_content(sha256, *content));
  return true;
}

Stored<std::optional<UploadUrl>> ArtifactStore::upload_url(const Digest& /*sha256*/,
                                                           std::uint64_t /*bytes*/) {
  return std::nullopt;
}

Stored<bool> ArtifactStore::has(const Digest& sha256) const {
  return TRY(size_of(sha256)).has_value();
}

bool is_store_away(const StoreError& error) {
  return error.kind == StoreError::Kind::away || error.kind == StoreError::Kind::denied;
}

}  // namespace signalbox
