// The artifacts of a data directory: in its own directory, or in a store of objects, with what the
// directory has from before. Blobs are found in both, so a service may change from one to the
// other.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "server/platform/artifact_store.h"
#include "server/platform/directory_artifacts.h"
#include "server/platform/s3_artifacts.h"

namespace signalbox {

class ServiceArtifacts final : public ArtifactStore {
 public:
  // Without `objects`, everything is in the directory.
  explicit ServiceArtifacts(std::filesystem::path directory,
                            std::optional<S3Settings> objects = std::nullopt);

  Stored<void> put_content(const Digest& sha256, std::string_view content) override;
  Stored<bool> confirm(const Digest& sha256, std::uint64_t bytes) override;
  Stored<std::optional<UploadUrl>> upload_url(const Digest& sha256, std::uint64_t bytes,
                                              std::int64_t wall_ns) override;
  [[nodiscard]] Stored<std::string> get(const Digest& sha256) const override;
  Stored<void> scan(const Digest& sha256,
                    const std::function<void(std::string_view part)>& take) const override;
  [[nodiscard]] Stored<OpenedBlob> open(const Digest& sha256, std::uint64_t bytes) const override;
  [[nodiscard]] Stored<std::string> get_part(const Digest& sha256, std::uint64_t offset,
                                             std::uint64_t bytes) const override;
  [[nodiscard]] Stored<OpenedBlob> open_part(const Digest& sha256, std::uint64_t offset,
                                             std::uint64_t bytes) const override;
  [[nodiscard]] Stored<std::optional<std::uint64_t>> size_of(const Digest& sha256) const override;
  [[nodiscard]] std::string location_of(const Digest& sha256) const override;
  Stored<void> claim_removals(const std::string& owner) override;
  Stored<void> list(std::uint8_t first,
                    const std::function<bool(const KeptBlob&)>& visit) const override;
  Stored<std::uint64_t> remove_older(const Digest& sha256, std::int64_t before_ns) override;
  Stored<std::uint64_t> remove_unfinished(std::uint8_t first, std::int64_t before_ns) override;

  // Stores the content in the directory, as put(): for what must be stored while no store of
  // objects answers, such as the report of a crash.
  Stored<Artifact> put_here(const std::string& name, const std::string& media_type,
                            std::string_view content);

  // The store of objects, or nullptr.
  [[nodiscard]] const S3Artifacts* objects() const { return objects_ ? &*objects_ : nullptr; }

 private:
  DirectoryArtifacts directory_;
  mutable std::optional<S3Artifacts> objects_;
};

}  // namespace signalbox
