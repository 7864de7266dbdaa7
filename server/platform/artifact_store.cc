#include "server/platform/artifact_store.h"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "domain/try.h"
#include "store/sha256.h"

namespace signalbox {
namespace {

tl::unexpected<StoreError> not_the_artifact(const std::string& location) {
  return store_failure(StoreError::Kind::damaged,
                       "what " + location + " has in the place of an artifact is not the artifact",
                       location);
}

// Returns what `read_own` gives instead of a part that can't be had. A store that is away may have
// it later, whichever of the two it was asked for.
template <class T, class ReadOwn>
Stored<T> or_own(Stored<T> part, ReadOwn read_own) {
  if (part || is_store_away(part.error())) return part;
  Stored<T> own = read_own();
  return own || is_store_away(own.error()) ? std::move(own) : std::move(part);
}

// Reads the part that was opened, and returns whether it has the artifact's digest.
Stored<bool> has_digest(const OpenedBlob& opened, const ArtifactPlace& place) {
  Sha256 hash;
  std::array<char, 64 * 1024> buffer;
  std::uint64_t read = 0;
  while (read < place.bytes) {
    const auto wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), place.bytes - read));
    const ssize_t got =
        ::pread(opened.file.get(), buffer.data(), wanted, static_cast<off_t>(opened.begins + read));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return tl::unexpected(system_error("read", "an artifact of a bundle"));
    if (got == 0) return false;
    hash.update({buffer.data(), static_cast<std::size_t>(got)});
    read += static_cast<std::uint64_t>(got);
  }
  return hash.finish() == place.sha256;
}

}  // namespace

Stored<Artifact> ArtifactStore::put(const std::string& name, const std::string& media_type,
                                    std::string_view content) {
  Artifact artifact{name, media_type, content.size(), sha256(content)};
  TRY(put_content(artifact.sha256, content));
  return artifact;
}

Stored<void> ArtifactStore::scan(const Digest& sha256,
                                 const std::function<void(std::string_view part)>& take) const {
  take(TRY(get(sha256)));
  return {};
}

Stored<std::optional<UploadUrl>> ArtifactStore::upload_url(const Digest& /*sha256*/,
                                                           std::uint64_t /*bytes*/,
                                                           std::int64_t /*wall_ns*/) {
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
  if (part) part = not_the_artifact(location_of(place.part->bundle));
  return or_own(std::move(part), [&] { return get(place.sha256); });
}

Stored<OpenedBlob> ArtifactStore::open_at(const ArtifactPlace& place) const {
  if (!place.part) return open(place.sha256, place.bytes);
  auto part = open_part(place.part->bundle, place.part->offset, place.bytes);
  if (part) {
    const bool is_it = TRY(has_digest(*part, place));
    if (is_it) return part;
    part = not_the_artifact(location_of(place.part->bundle));
  }
  return or_own(std::move(part), [&] { return open(place.sha256, place.bytes); });
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

Stored<std::uint64_t> ArtifactStore::remove_unfinished(std::uint8_t /*first*/,
                                                       std::int64_t /*before_ns*/) {
  return 0;
}

// A directory of its own is nobody else's.
Stored<void> ArtifactStore::claim_removals(const std::string& /*owner*/) { return {}; }

bool is_store_away(const StoreError& error) {
  return error.kind == StoreError::Kind::away || error.kind == StoreError::Kind::denied;
}

}  // namespace signalbox
