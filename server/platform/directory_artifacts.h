// Artifacts in a directory: <root>/sha256/<first two digits>/<other sixty-two digits>.
//
// A blob is written once, atomically (temporary file, fsync, rename, fsync of the directory).
#pragma once

#include <filesystem>
#include <shared_mutex>
#include <string>

#include "server/platform/artifact_store.h"

namespace signalbox {

class DirectoryArtifacts final : public ArtifactStore {
 public:
  explicit DirectoryArtifacts(std::filesystem::path root);  // <data>/artifacts

  Stored<void> put_content(const Digest& sha256, std::string_view content) override;
  Stored<bool> confirm(const Digest& sha256, std::uint64_t bytes) override;
  [[nodiscard]] Stored<std::string> get(const Digest& sha256) const override;
  Stored<void> scan(const Digest& sha256,
                    const std::function<void(std::string_view part)>& take) const override;
  [[nodiscard]] Stored<OpenedBlob> open(const Digest& sha256, std::uint64_t bytes) const override;
  [[nodiscard]] Stored<OpenedBlob> open_part(const Digest& sha256, std::uint64_t offset,
                                             std::uint64_t bytes) const override;
  [[nodiscard]] Stored<std::optional<std::uint64_t>> size_of(const Digest& sha256) const override;
  [[nodiscard]] std::string location_of(const Digest& sha256) const override;
  Stored<void> list(std::uint8_t first,
                    const std::function<bool(const KeptBlob&)>& visit) const override;
  // The sizes that these return are those on the disk.
  Stored<std::uint64_t> remove_older(const Digest& sha256, std::int64_t before_ns) override;
  Stored<std::uint64_t> remove_unfinished(std::uint8_t first, std::int64_t before_ns) override;

  // Returns the path of the blob with this digest, whether it exists or not.
  [[nodiscard]] std::filesystem::path path_of(const Digest& sha256) const;

 private:
  // Returns the directory of the blobs whose digest begins with this byte.
  [[nodiscard]] std::filesystem::path directory_of(std::uint8_t first) const;

  std::filesystem::path root_;
  // Shared by all put(): none may find a blob that is being removed.
  std::shared_mutex removal_;
};

}  // namespace signalbox
