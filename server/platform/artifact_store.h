// The content-addressed store of artifacts: a directory (directory_artifacts.h), or a bucket of an
// S3-compatible store of objects (s3_artifacts.h). open_artifact_store() gives the one that a data
// directory uses (artifact_settings.h).
//
// A blob is stored, durably and acknowledged, before the event that names it is decided. A crash in
// between leaves a blob that no event names, which the retention of files finds.
//
// All functions block, within the bounds of the thread's calls (call_bounds.h), and may be called
// on any thread. Errors: `not_found`; `damaged` if what is stored isn't what was; `full` or `io` of
// a disk; of a store of objects also `away` for one that can't be reached or is overloaded, and
// `denied` for one that refuses the request or its credentials.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/station_events.h"
#include "store/file_descriptor.h"
#include "store/store_error.h"

namespace signalbox {

// Age up to which no event needs to name a blob: it is stored before the event, and a job's result
// may wait that long.
inline constexpr std::int64_t unnamed_artifact_ms_min = 24LL * 60 * 60 * 1000;

// A blob as list() finds it.
struct KeptBlob {
  Digest sha256{};
  std::int64_t stored_ns = 0;  // UTC, of its latest put()
  std::uint64_t bytes = 0;
};

// The part of a bundle (attempt_bundle.h) that is the content of an artifact.
struct BundlePart {
  Digest bundle{};
  std::uint64_t offset = 0;
};

// Where the content of an artifact is.
struct ArtifactPlace {
  Digest sha256{};
  std::uint64_t bytes = 0;
  std::optional<BundlePart> part = std::nullopt;  // nullopt: it is a blob of its own
};

// An open file with the content of a blob, or of a part of one.
struct OpenedBlob {
  FileDescriptor file;
  std::shared_ptr<void> place;  // of a copy that counts until this is destroyed; or nullptr
  std::uint64_t begins = 0;     // the content's offset in the file
};

// A PUT with which somebody else may store content without credentials, until it expires.
struct UploadUrl {
  std::string url;                                           // a secret while it is valid
  std::vector<std::pair<std::string, std::string>> headers;  // to send as they are
};

class ArtifactStore {
 public:
  ArtifactStore() = default;
  ArtifactStore(const ArtifactStore&) = delete;
  ArtifactStore& operator=(const ArtifactStore&) = delete;
  virtual ~ArtifactStore() = default;

  // Stores the content and returns its name, media type, size and digest. Content that is already
  // stored isn't written again, unless it was damaged.
  Stored<Artifact> put(const std::string& name, const std::string& media_type,
                       std::string_view content);
  // Does the same for content of this digest.
  virtual Stored<void> put_content(const Digest& sha256, std::string_view content) = 0;

  // Returns whether content of this digest and size is stored. Its age begins anew then, as with
  // put(), so that no retention removes it before an event names it. What is there under the digest
  // and is something else counts as absent: put() replaces it.
  virtual Stored<bool> confirm(const Digest& sha256, std::uint64_t bytes) = 0;
  // Returns a request by which content of this digest and size gets into the store without passing
  // through this process, which has to confirm() it then; nullopt if there is no such way. It is
  // good for limits::upload_url_ms_max from `wall_ns` (UTC) on.
  virtual Stored<std::optional<UploadUrl>> upload_url(const Digest& sha256, std::uint64_t bytes,
                                                      std::int64_t wall_ns);

  // Returns the content after checking its digest.
  [[nodiscard]] virtual Stored<std::string> get(const Digest& sha256) const = 0;
  // Calls `take` with the content, part by part, and then checks its digest. `damaged` if it has
  // another one: what was taken is something else. Takes no more memory for a large one than for a
  // small one where the store can read it in parts.
  virtual Stored<void> scan(const Digest& sha256,
                            const std::function<void(std::string_view part)>& take) const;
  // Opens the content, which has `bytes` bytes, for reading at any offset. Takes no more memory for
  // a large one than for a small one. The caller checks the digest before it serves any of it.
  [[nodiscard]] virtual Stored<OpenedBlob> open(const Digest& sha256,
                                                std::uint64_t bytes) const = 0;
  // Returns so many bytes of the blob from `offset` on, which the caller compares with a digest;
  // `damaged` if it ends before.
  [[nodiscard]] virtual Stored<std::string> get_part(const Digest& sha256, std::uint64_t offset,
                                                     std::uint64_t bytes) const;
  // Does for a part of a blob what open() does for the whole.
  [[nodiscard]] virtual Stored<OpenedBlob> open_part(const Digest& sha256, std::uint64_t offset,
                                                     std::uint64_t bytes) const = 0;
  // Does what get(), open(), has() and location_of() do for an artifact, wherever it is. One whose
  // bundle doesn't have it may still be a blob of its own: of another attempt, or an earlier one.
  // The digest of a part of a bundle is compared.
  [[nodiscard]] Stored<std::string> get_at(const ArtifactPlace& place) const;
  [[nodiscard]] Stored<OpenedBlob> open_at(const ArtifactPlace& place) const;
  [[nodiscard]] Stored<bool> has_at(const ArtifactPlace& place) const;
  [[nodiscard]] std::string location_at(const ArtifactPlace& place) const;
  // Returns how many bytes the blob has; nullopt if it isn't there.
  [[nodiscard]] virtual Stored<std::optional<std::uint64_t>> size_of(
      const Digest& sha256) const = 0;
  [[nodiscard]] Stored<bool> has(const Digest& sha256) const;
  // Returns where the blob is, whether it exists or not: a path, or an `s3://` URL.
  [[nodiscard]] virtual std::string location_of(const Digest& sha256) const = 0;

  // Notes in the store that what the log of `owner` doesn't name may be removed from it: the id of
  // a service, a blank, and what people know it by. `denied` if the store has another one's note,
  // with what to do; so a copy of a data directory, or a second service with the same settings,
  // removes nothing of the first one's. Called before each round of removals.
  virtual Stored<void> claim_removals(const std::string& owner);
  // Calls `visit` for each blob whose digest begins with the byte `first`, until it returns false.
  virtual Stored<void> list(std::uint8_t first,
                            const std::function<bool(const KeptBlob&)>& visit) const = 0;
  // Removes the blob, unless put() stored it at `before_ns` (UTC) or later, whether it was there
  // already or not. Returns its size; 0 if it stays or isn't there.
  virtual Stored<std::uint64_t> remove_older(const Digest& sha256, std::int64_t before_ns) = 0;
  // Removes what processes that were killed have left of blobs whose digest begins with the byte
  // `first`, if it was written before `before_ns` (UTC). Returns how many bytes that had.
  virtual Stored<std::uint64_t> remove_unfinished(std::uint8_t first, std::int64_t before_ns);
};

// Returns whether the error is one of a store of objects, which goes by without a change of ours:
// the same call may succeed later.
bool is_store_away(const StoreError& error);

}  // namespace signalbox
