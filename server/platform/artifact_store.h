// Files by their content: <data>/artifacts/sha256/<first two digits>/<the other sixty-two>.
//
// A blob is written once, atomically (temporary file, fsync, rename, fsync of the directory),
// before the event that names it. A crash in between leaves a blob that nobody names: harmless.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "domain/station_events.h"
#include "store/store_error.h"

namespace signalbox {

class ArtifactStore {
 public:
  explicit ArtifactStore(std::filesystem::path root);  // <data>/artifacts

  // Any thread. `io` or `full` where the disk refuses.
  Stored<Artifact> put(const std::string& name, const std::string& media_type,
                       std::string_view content);

  // The content, after its digest was checked: `not_found`, or `damaged` if it isn't what was put.
  [[nodiscard]] Stored<std::string> get(const Digest& sha256) const;
  [[nodiscard]] std::filesystem::path path_of(const Digest& sha256) const;

 private:
  std::filesystem::path root_;
};

}  // namespace signalbox
