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

Stored<bool> ArtifactStore::has(const Digest& sha256) const {
  return TRY(size_of(sha256)).has_value();
}

bool is_store_away(const StoreError& error) {
  return error.kind == StoreError::Kind::away || error.kind == StoreError::Kind::denied;
}

}  // namespace signalbox
