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

Stored<std::string> ArtifactStore::get_part(const Digest& sha256, std::uint64_t offset,
                                            std::uint64_t bytes) const {
  const std::string content = TRY(get(sha256));
  if (offset > content.size() || bytes > content.size() - offset) {
    return store_failure(StoreError::Kind::damaged,
                         location_of(sha256) + " ends before one of its parts",
                         location_of(sha256));
  }
  return content.substr(offset, bytes);
}

Stored<std::string> ArtifactStore::get_at(const ArtifactPlace& place) const {
  if (!place.part) return get(place.sha256);
  auto part = get_part(place.part->bundle, place.part->offset, place.bytes);
  if (part && signalbox::sha256(*part) == place.sha256) return part;
  if (part) {
    const std::string location = location_of(place.part->bundle);
    part = store_failure(
        StoreError::Kind::damaged,
        "what " + location + " has in the place of an artifact is not the artifact", location);
  }
  if (is_store_away(part.error())) return part;
  auto own = get(place.sha256);
  return own ? std::move(own) : std::move(part);
}

Stored<OpenedBlob> ArtifactStore::open_at(const ArtifactPlace& place) const {
  if (!place.part) return open(place.sha256, place.bytes);
  auto part = open_part(place.part->bundle, place.part->offset, place.bytes);
  if (part || is_store_away(part.error())) return part;
  auto own = open(place.sha256, place.bytes);
  return own ? std::move(own) : std::move(part);
}

Stored<bool> ArtifactStore::has_at(const ArtifactPlace& place) const {
  if (place.part && TRY(has(place.part->bundle))) return true;
  return has(place.sha256);
}

std::string ArtifactStore::location_at(const ArtifactPlace& place) const {
  return location_of(place.part ? place.part->bundle : place.sha256);
}

Stored<bool> ArtifactStore::has(const Digest& sha256) const {
  return TRY(size_of(sha256)).has_value();
}

bool is_store_away(const StoreError& error) {
  return error.kind == StoreError::Kind::away || error.kind == StoreError::Kind::denied;
}

}  // namespace signalbox
