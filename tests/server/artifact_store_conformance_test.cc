// What every store of artifacts promises, over each implementation: the directory, a store of
// objects (with and without conditions), and a service that changed from one to the other.
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <set>
#include <thread>

#include "domain/nanoseconds.h"
#include "server/platform/clock.h"
#include "server/platform/service_artifacts.h"
#include "store/sha256.h"
#include "tests/fixtures/s3_endpoint.h"
#include "tests/server/executor_fixture.h"

namespace signalbox {
namespace {

S3Settings settings_of(const test::S3Endpoint& endpoint) {
  S3Settings settings;
  settings.endpoint = endpoint.url();
  settings.region = "eu-central-1";
  settings.bucket = test::S3Endpoint::bucket;
  settings.prefix = "one/service/";
  settings.credentials = [] {
    return AwsCredentials{test::S3Endpoint::key_id, test::S3Endpoint::secret, {}};
  };
  return settings;
}

// A store under test, and how somebody else changes what it holds.
struct StoreSite {
  virtual ~StoreSite() = default;
  virtual ArtifactStore& store() = 0;
  virtual void change(const Digest& sha256, const std::string& content) = 0;
  virtual void set_time_of_all(std::int64_t ns) = 0;
};

struct DirectorySite final : StoreSite {
  ArtifactStore& store() override { return artifacts; }
  void change(const Digest& sha256, const std::string& content) override {
    write_text(artifacts.path_of(sha256), content);
  }
  void set_time_of_all(std::int64_t ns) override {
    const auto time = std::filesystem::file_time_type::clock::from_sys(
        std::chrono::sys_time<std::chrono::nanoseconds>(std::chrono::nanoseconds(ns)));
    for (const auto& each : std::filesystem::recursive_directory_iterator(directory.path())) {
      if (each.is_regular_file()) std::filesystem::last_write_time(each, time);
    }
  }
  TemporaryDirectory directory;
  DirectoryArtifacts artifacts{directory.path() / "artifacts"};
};

struct ObjectSite final : StoreSite {
  explicit ObjectSite(bool knows_conditions) {
    if (!knows_conditions) endpoint.know_no_conditions();
    endpoint.put_at_most_per_page(2);
  }
  ArtifactStore& store() override { return artifacts; }
  void change(const Digest& sha256, const std::string& content) override {
    endpoint.change(artifacts.location_of(sha256).substr(root.size()), content);
  }
  void set_time_of_all(std::int64_t ns) override { endpoint.set_time_of_all(ns); }
  const std::string root = std::string("s3://") + test::S3Endpoint::bucket + "/";
  TemporaryDirectory directory;
  test::S3Endpoint endpoint;
  S3Artifacts artifacts{settings_of(endpoint), directory.path()};
};

struct ServiceSite final : StoreSite {
  ArtifactStore& store() override { return artifacts; }
  void change(const Digest& sha256, const std::string& content) override {
    endpoint.change(artifacts.location_of(sha256).substr(root.size()), content);
  }
  void set_time_of_all(std::int64_t ns) override { endpoint.set_time_of_all(ns); }
  const std::string root = std::string("s3://") + test::S3Endpoint::bucket + "/";
  TemporaryDirectory directory;
  test::S3Endpoint endpoint;
  ServiceArtifacts artifacts{directory.path() / "artifacts", settings_of(endpoint)};
};

struct StoreKind {
  const char* name;
  std::function<std::unique_ptr<StoreSite>()> make;
};
void PrintTo(const StoreKind& kind, std::ostream* out) { *out << kind.name; }

class ArtifactStoreConformance : public ::testing::TestWithParam<StoreKind> {
 protected:
  const std::unique_ptr<StoreSite> site_ = GetParam().make();
  ArtifactStore& store_ = site_->store();

  Digest put(const std::string& content) {
    const auto stored = store_.put("n", "text/plain", content);
    EXPECT_TRUE(stored) << (stored ? "" : stored.error().message);
    return stored ? stored->sha256 : Digest{};
  }
  std::set<Digest> listed() {
    std::set<Digest> found;
    for (int part = 0; part < 256; ++part) {
      EXPECT_TRUE(store_.list(static_cast<std::uint8_t>(part),
                              [&](const KeptBlob& blob) { found.insert(blob.sha256); }));
    }
    return found;
  }
};

std::string whole_of(const OpenedBlob& opened, std::size_t bytes) {
  std::string content(bytes, '\0');
  const auto read = ::pread(opened.file.get(), content.data(), bytes, 0);
  content.resize(read < 0 ? 0 : static_cast<std::size_t>(read));
  return content;
}

TEST_P(ArtifactStoreConformance, WhatWasStoredIsRead) {
  const std::string large(700'000, 'x');
  for (const std::string& content : {std::string(), std::string("hello\n"), large}) {
    const auto artifact = store_.put("notes", "text/plain", content);
    ASSERT_TRUE(artifact) << artifact.error().message;
    EXPECT_EQ(artifact->bytes, content.size());
    EXPECT_EQ(artifact->sha256, sha256(content));
    EXPECT_EQ(artifact->name, "notes");
    EXPECT_EQ(store_.get(artifact->sha256).value(), content);
    EXPECT_TRUE(store_.has(artifact->sha256).value());
    EXPECT_EQ(store_.size_of(artifact->sha256).value(), content.size());
    const auto opened = store_.open(artifact->sha256, content.size());
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ(whole_of(*opened, content.size() + 1), content);
  }
}

TEST_P(ArtifactStoreConformance, WhatIsntThereIsNotFound) {
  const Digest unknown = sha256("nobody has it");
  EXPECT_EQ(store_.get(unknown).error().kind, StoreError::Kind::not_found);
  EXPECT_EQ(store_.open(unknown, 1).error().kind, StoreError::Kind::not_found);
  EXPECT_FALSE(store_.has(unknown).value());
  EXPECT_EQ(store_.size_of(unknown).value(), 0U);
  EXPECT_EQ(store_.remove_older(unknown, SystemClock().wall_ns()).value(), 0U);
}

TEST_P(ArtifactStoreConformance, WhatWasChangedIsNotServedAndIsHealedByStoringItAgain) {
  const Digest digest = put("hello\n");
  for (const std::string& changed :
       {std::string("hellO\n"), std::string("hello"), std::string(900'000, 'y')}) {
    site_->change(digest, changed);
    const auto damaged = store_.get(digest);
    ASSERT_FALSE(damaged);
    EXPECT_EQ(damaged.error().kind, StoreError::Kind::damaged);
    EXPECT_EQ(damaged.error().file, store_.location_of(digest));
    put("hello\n");
    EXPECT_EQ(store_.get(digest).value(), "hello\n");
  }
}

TEST_P(ArtifactStoreConformance, ManyStoreTheSameAtTheSameTime) {
  std::vector<std::thread> writers;
  for (int index = 0; index < 4; ++index) {
    writers.emplace_back([this] {
      for (int round = 0; round < 5; ++round) {
        EXPECT_TRUE(store_.put("n", "text/plain", "round " + std::to_string(round)));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(listed().size(), 5U);
}

TEST_P(ArtifactStoreConformance, AllAreListedByTheFirstByteOfTheirDigest) {  // A15
  std::set<Digest> stored;
  // The digests of some of these begin with the same byte, so that there are several pages.
  for (int each = 0; each < 300; ++each) stored.insert(put("blob " + std::to_string(each)));
  EXPECT_EQ(listed(), stored);
}

TEST_P(ArtifactStoreConformance, OnlyWhatNobodyStoredLatelyIsRemoved) {  // A15
  const Digest digest = put("hello\n");
  const std::int64_t now_ns = SystemClock().wall_ns();
  const std::int64_t day_ns = unnamed_artifact_ms_min * ns_per_ms;
  EXPECT_EQ(store_.remove_older(digest, now_ns - day_ns).value(), 0U);
  EXPECT_TRUE(store_.has(digest).value());
  site_->set_time_of_all(now_ns - 2 * day_ns);
  put("hello\n");  // it is there already, and is used from now on
  EXPECT_EQ(store_.remove_older(digest, now_ns - day_ns).value(), 0U);
  EXPECT_EQ(store_.get(digest).value(), "hello\n");
  site_->set_time_of_all(now_ns - 2 * day_ns);
  EXPECT_GT(store_.remove_older(digest, now_ns - day_ns).value(), 0U);
  EXPECT_FALSE(store_.has(digest).value());
  EXPECT_EQ(store_.remove_older(digest, now_ns - day_ns).value(), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Every, ArtifactStoreConformance,
    ::testing::Values(StoreKind{"directory", [] { return std::make_unique<DirectorySite>(); }},
                      StoreKind{"objects", [] { return std::make_unique<ObjectSite>(true); }},
                      StoreKind{"objects_without_conditions",
                                [] { return std::make_unique<ObjectSite>(false); }},
                      StoreKind{"service", [] { return std::make_unique<ServiceSite>(); }}),
    [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace signalbox
