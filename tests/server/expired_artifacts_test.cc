// How long the retention of files is at artifacts, of a store that may list without end.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <vector>

#include "server/retention/expired_run_files.h"
#include "tests/fixtures/file_content.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

// Lists so many old blobs of each part, and notes what it is asked.
class ListedArtifacts final : public ArtifactStore {
 public:
  static constexpr std::uint64_t without_end = ~std::uint64_t{0};
  static constexpr std::uint64_t blob_bytes = 3;

  std::uint64_t blobs_of_part = 1;
  mutable std::vector<std::uint8_t> parts;  // that were listed
  std::uint64_t removed = 0;
  std::string owner;  // who has claimed removals
  bool is_of_another = false;

  Stored<void> claim_removals(const std::string& claimed) override {
    if (is_of_another) return store_failure(StoreError::Kind::denied, "another service");
    owner = claimed;
    return {};
  }
  Stored<void> put_content(const Digest&, std::string_view) override { return {}; }
  Stored<bool> confirm(const Digest&, std::uint64_t) override { return true; }
  [[nodiscard]] Stored<std::string> get(const Digest&) const override { return std::string(); }
  [[nodiscard]] Stored<OpenedBlob> open(const Digest&, std::uint64_t) const override {
    return OpenedBlob{};
  }
  [[nodiscard]] Stored<OpenedBlob> open_part(const Digest&, std::uint64_t,
                                             std::uint64_t) const override {
    return OpenedBlob{};
  }
  [[nodiscard]] Stored<std::optional<std::uint64_t>> size_of(const Digest&) const override {
    return 1;
  }
  [[nodiscard]] std::string location_of(const Digest&) const override { return "s3://b/c"; }
  Stored<void> list(std::uint8_t first,
                    const std::function<bool(const KeptBlob&)>& visit) const override {
    parts.push_back(first);
    KeptBlob blob;
    blob.bytes = blob_bytes;
    for (std::uint64_t each = 0; each < blobs_of_part; ++each) {
      // The same thousand again and again take no more memory, and no less time.
      blob.sha256 = {first, static_cast<std::uint8_t>(each % 1000 / 256),
                     static_cast<std::uint8_t>(each % 1000 % 256), 1};
      if (!visit(blob)) return {};
    }
    return {};
  }
  Stored<std::uint64_t> remove_older(const Digest&, std::int64_t) override {
    ++removed;
    return blob_bytes;
  }
};

class ExpiredArtifactsTest : public ::testing::Test, protected RpcSite {
 protected:
  // Begins a round that has so much time for artifacts.
  void begin(std::int64_t artifacts_ms_max, bool is_dry) {
    if (!files || artifacts_ms_max != given_ms) {
      given_ms = artifacts_ms_max;
      files = std::make_unique<ExpiredRunFiles>(ExpiredRunFiles::Parts{
          log, projector, run_files, [this] { return log.tail(); }, store, scratch.path(), stopped,
          nullptr, in_place, in_place, "1234 /data on host", artifacts_ms_max});
    }
    FileRound asked;
    asked.is_dry = is_dry;
    asked.now_ns = clock.wall_ns();
    EXPECT_TRUE(files->begin(asked));
  }
  // Returns the report of such a round.
  FileRetentionReport round(std::int64_t artifacts_ms_max, bool is_dry = false) {
    begin(artifacts_ms_max, is_dry);
    for (;;) {
      const auto more = files->remove_artifacts();
      EXPECT_TRUE(more.has_value());
      if (!more || !*more) return files->end();
    }
  }

  // Returns why a round that may remove ended.
  std::string refused_round() {
    begin(limits::file_retention_artifacts_ms_max, /*is_dry=*/false);
    const auto more = files->remove_artifacts();
    return more ? std::string() : more.error().message;
  }

  static Stored<void> in_place(const std::string&, const std::function<Stored<void>()>& work) {
    return work();
  }

  TemporaryDirectory scratch;
  ListedArtifacts store;
  RunFiles run_files{log, projector, scratch.path() / "runs"};
  const std::atomic<bool> stopped{false};
  std::int64_t given_ms = 0;
  std::unique_ptr<ExpiredRunFiles> files;
};

TEST_F(ExpiredArtifactsTest, ARoundRemovesWhatNoRunHasFromAllParts) {  // A15
  const FileRetentionReport plan = round(limits::file_retention_artifacts_ms_max, /*is_dry=*/true);
  EXPECT_EQ(plan.artifacts_removed, 256U);
  EXPECT_EQ(plan.bytes_removed, 256 * ListedArtifacts::blob_bytes);
  EXPECT_EQ(store.removed, 0U);
  EXPECT_EQ(store.owner, "") << "it removes nothing";
  const FileRetentionReport report = round(limits::file_retention_artifacts_ms_max);
  EXPECT_EQ(store.owner, "1234 /data on host");
  EXPECT_EQ(report.artifacts_removed, 256U);
  EXPECT_EQ(store.removed, 256U);
  EXPECT_FALSE(report.is_partial);
}

// Those of runners that are gone; one that goes on with its upload has written within the day.
TEST_F(ExpiredArtifactsTest, ARoundRemovesUploadsThatAreLeftForADay) {  // A15, P11
  namespace fs = std::filesystem;
  const fs::path uploads = scratch.path() / "uploads";
  fs::create_directory(uploads);
  const std::chrono::sys_time<std::chrono::nanoseconds> now{
      std::chrono::nanoseconds(clock.wall_ns())};
  for (const auto& [name, age] : {std::pair("left", std::chrono::hours(25)),
                                  std::pair("under_way", std::chrono::hours(23))}) {
    write_text(uploads / name, "piece");
    fs::last_write_time(uploads / name, std::chrono::file_clock::from_sys(now - age));
  }
  (void)round(limits::file_retention_artifacts_ms_max, /*is_dry=*/true);
  EXPECT_TRUE(fs::exists(uploads / "left"));
  (void)round(limits::file_retention_artifacts_ms_max);
  EXPECT_FALSE(fs::exists(uploads / "left"));
  EXPECT_TRUE(fs::exists(uploads / "under_way"));
}

TEST_F(ExpiredArtifactsTest, NothingIsRemovedFromAStoreOfAnotherService) {  // A15, G11
  store.is_of_another = true;
  EXPECT_EQ(refused_round(), "another service");
  EXPECT_EQ(store.removed, 0U);
  EXPECT_TRUE(store.parts.empty());
}

TEST_F(ExpiredArtifactsTest, AStoreThatListsWithoutEndEndsTheRoundAndTheNextGoesOn) {  // A15
  constexpr std::int64_t short_ms = 40;
  store.blobs_of_part = ListedArtifacts::without_end;
  const FileRetentionReport report = round(short_ms);
  EXPECT_TRUE(report.is_partial);
  EXPECT_EQ(report.error, "");
  EXPECT_GT(store.removed, 0U) << "listing leaves time for it";
  const std::vector<std::uint8_t> first = store.parts;
  ASSERT_FALSE(first.empty());

  // A plan in between doesn't move on.
  EXPECT_TRUE(round(short_ms, /*is_dry=*/true).is_partial);
  const std::size_t planned = store.parts.size();
  EXPECT_TRUE(round(short_ms).is_partial);
  ASSERT_GT(store.parts.size(), planned);
  EXPECT_EQ(store.parts[planned], static_cast<std::uint8_t>(first.back() + 1));
}

}  // namespace
}  // namespace signalbox
