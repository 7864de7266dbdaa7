// Artifacts in a bucket of an S3-compatible store: <prefix>sha256/<first two digits>/<other
// sixty-two digits>, the names that DirectoryArtifacts has.
//
// <prefix>owner has the note of claim_removals().
//
// A blob is created only if it is absent. One that is there is read and compared, and is replaced
// if it was damaged, or so old that the retention of files could take it for one that nobody names.
// So is one that somebody else has put there by an upload_url(), when it is confirmed: by the size
// and the SHA-256 that the store tells, or by reading it from a store that tells none.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "server/platform/artifact_store.h"
#include "server/platform/s3_client.h"

namespace signalbox {

class S3Artifacts final : public ArtifactStore {
 public:
  // `scratch` is the directory for copies of what is downloaded; absolute.
  S3Artifacts(S3Settings settings, std::filesystem::path scratch);

  Stored<void> put_content(const Digest& sha256, std::string_view content) override;
  Stored<bool> confirm(const Digest& sha256, std::uint64_t bytes) override;
  Stored<std::optional<UploadUrl>> upload_url(const Digest& sha256, std::uint64_t bytes,
                                              std::int64_t wall_ns) override;
  [[nodiscard]] Stored<std::string> get(const Digest& sha256) const override;
  Stored<void> scan(const Digest& sha256,
                    const std::function<void(std::string_view part)>& take) const override;
  // Copies the blob into a file without a name, and checks it. At most limits::artifact_copies_max
  // such copies exist at a time; beyond them the error is `away`.
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

  // Returns what is wrong with the store, or nullopt.
  [[nodiscard]] std::optional<StoreTrouble> trouble() const { return client_.trouble(); }

 private:
  // Blobs that are being stored or removed: neither may begin while the other goes on.
  class Turns {
   public:
    void begin_put(const Digest& sha256);
    void end_put(const Digest& sha256);
    // Returns false if the blob is being stored, or removed by somebody else.
    bool begin_removal(const Digest& sha256);
    void end_removal(const Digest& sha256);

   private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<Digest, std::size_t> puts_;
    std::set<Digest> removals_;
  };

  Stored<void> store(const Digest& sha256, std::string_view content);
  Stored<bool> check(const Digest& sha256, std::uint64_t bytes);
  // Copies what `read` passes to its sink, which has to be so many bytes.
  [[nodiscard]] Stored<OpenedBlob> copy(
      const std::string& location, std::uint64_t bytes,
      const std::function<Stored<void>(const S3Client::Sink& sink)>& read) const;
  [[nodiscard]] std::string key_of(const Digest& sha256) const;
  // Returns the note of claim_removals(); empty if there is none.
  [[nodiscard]] Stored<std::string> noted_owner() const;
  [[nodiscard]] Stored<std::optional<S3Object>> find(const Digest& sha256) const;
  // Returns whether the blob there has its digest.
  [[nodiscard]] Stored<bool> is_intact(const Digest& sha256) const;

  mutable S3Client client_;
  const std::filesystem::path scratch_;
  const std::shared_ptr<std::atomic<std::size_t>> copies_ =
      std::make_shared<std::atomic<std::size_t>>(0);
  Turns turns_;
};

}  // namespace signalbox
