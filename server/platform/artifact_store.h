// The content-addressed store of artifacts: <data>/artifacts/sha256/<first two digits>/<other
// sixty-two digits>.
//
// A blob is written once, atomically (temporary file, fsync, rename, fsync of the directory),
// before the event that names it. A crash in between leaves a blob that no event names, which is
// harmless.
#pragma once

#include <cstdint>
#include <filesystem>
#include <shared_mutex>
#include <string>
#include <string_view>

#include "domain/station_events.h"
#include "store/store_error.h"

namespace signalbox {

class ArtifactStore {
 public:
  explicit ArtifactStore(std::filesystem::path root);  // <data>/artifacts

  // Stores the content and returns its name, media type, size and digest. Content that is already
  // stored isn't written again. Blocks on the disk. Any thread. Errors: `full` or `io` where the
  // disk refuses.
  Stored<Artifact> put(const std::string& name, const std::string& media_type,
                       std::string_view content);

  // Returns the content after checking its digest. Blocks on the disk. Any thread. Errors:
  // `not_found`; `damaged` if the content isn't what was stored.
  [[nodiscard]] Stored<std::string> get(const Digest& sha256) const;
  // Returns the path of the blob with this digest, whether it exists or not.
  [[nodiscard]] std::filesystem::path path_of(const Digest& sha256) const;

  // Removes the blob, unless put() stored it at `before_ns` (UTC) or later, whether it was there
  // already or not. Returns its size on the disk; 0 if it stays or isn't there. Blocks on the disk.
  // Any thread. Error: `io`.
  Stored<std::uint64_t> remove_older(const Digest& sha256, std::int64_t before_ns);

 private:
  std::filesystem::path root_;
  // Shared by all put(): none may find a blob that is being removed.
  std::shared_mutex removal_;
};

}  // namespace signalbox
