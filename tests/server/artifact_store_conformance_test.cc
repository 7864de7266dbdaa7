// What every store of artifacts promises, over each implementation: the directory, a store of
// objects (with and without conditions), a service that changed from one to the other, and the S3
// interface of a real OpenStack Swift, which knows no conditions.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <set>
#include <thread>

#include "domain/nanoseconds.h"
#include "server/platform/clock.h"
#include "server/platform/service_artifacts.h"
#include "store/sha256.h"
#include "tests/eventually.h"
#include "tests/fixtures/needed_ability.h"
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

// A Swift that all tests of this process share. Ends with the process, and without waiting for it:
// its standard input ends.
class SwiftServer {
 public:
  static constexpr const char* key_id = "test:tester";
  static constexpr const char* secret = "testing";

  // Returns the server; its port is 0 if the machine has no Swift.
  static const SwiftServer& shared() {
    static const SwiftServer server;
    return server;
  }
  SwiftServer()
      : input_(::popen(
            ("exec /usr/bin/python3 " SIGNALBOX_SOURCE_DIR "/tests/fixtures/swift_server.py " +
             directory_.path().string() + " " + test::S3Endpoint::bucket + " " + key_id + " " +
             secret)
                .c_str(),
            "we")) {
    if (std::system("/usr/bin/python3 -c 'import swift' 2>/dev/null") != 0) return;
    const auto file = directory_.path() / "port";
    EXPECT_TRUE(eventually([&] { return std::filesystem::exists(file); }))
        << content_of(directory_.path() / "output");
    port_ = content_of(file);
  }
  ~SwiftServer() {
    if (input_ != nullptr) ::pclose(input_);
  }
  SwiftServer(const SwiftServer&) = delete;
  SwiftServer& operator=(const SwiftServer&) = delete;

  [[nodiscard]] const std::string& port() const { return port_; }  // or empty

 private:
  TemporaryDirectory directory_;
  FILE* input_;
  std::string port_;
};

struct SwiftSite final : StoreSite {
  SwiftSite() : settings(make_settings()), artifacts(settings, directory.path()) {}
  static S3Settings make_settings() {
    static int sites = 0;
    S3Settings made;
    made.endpoint = "http://127.0.0.1:" + SwiftServer::shared().port();
    made.region = "us-east-1";
    made.bucket = test::S3Endpoint::bucket;
    made.prefix = "site-" + std::to_string(++sites) + "/";
    made.credentials = [] { return AwsCredentials{SwiftServer::key_id, SwiftServer::secret, {}}; };
    return made;
  }
  ArtifactStore& store() override { return artifacts; }
  void change(const Digest& sha256, const std::string& content) override {
    const std::string key = artifacts.location_of(sha256).substr(root.size());
    EXPECT_TRUE(S3Client(settings).put(key, signalbox::sha256(content), content,
                                       /*only_if_absent=*/false));
  }
  void set_time_of_all(std::int64_t) override { FAIL() << "Swift's times are its own"; }
  const std::string root = std::string("s3://") + test::S3Endpoint::bucket + "/";
  TemporaryDirectory directory;
  S3Settings settings;
  S3Artifacts artifacts;
};

std::unique_ptr<StoreSite> swift_site() {
  if (SwiftServer::shared().port().empty()) return nullptr;
  return std::make_unique<SwiftSite>();
}

struct StoreKind {
  const char* name;
  std::function<std::unique_ptr<StoreSite>()> make;
};
void PrintTo(const StoreKind& kind, std::ostream* out) { *out << kind.name; }

class ArtifactStoreConformance : public ::testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override {
    if (!site_) SIGNALBOX_CANNOT_RUN("there is no Swift: tools/packages python3-swift");
  }
  ArtifactStore& store() { return site_->store(); }

  const std::unique_ptr<StoreSite> site_ = GetParam().make();

  Digest put(const std::string& content) {
    const auto stored = store().put("n", "text/plain", content);
    EXPECT_TRUE(stored) << (stored ? "" : stored.error().message);
    return stored ? stored->sha256 : Digest{};
  }
  // Returns the blobs whose digests begin with this byte.
  std::set<Digest> listed(std::uint8_t first) {
    std::set<Digest> found;
    EXPECT_TRUE(store().list(first, [&](const KeptBlob& blob) {
      found.insert(blob.sha256);
      return true;
    }));
    return found;
  }
  // Returns the size of a blob as it is listed, or nullopt if it isn't.
  std::optional<std::uint64_t> listed_bytes(const Digest& sha256) {
    std::optional<std::uint64_t> bytes;
    EXPECT_TRUE(store().list(sha256.bytes.front(), [&](const KeptBlob& blob) {
      if (blob.sha256 == sha256) bytes = blob.bytes;
      return !bytes;
    }));
    return bytes;
  }
};
// Of stores in which a test can make blobs older.
class ArtifactAgeConformance : public ArtifactStoreConformance {};

std::string whole_of(const OpenedBlob& opened, std::size_t bytes) {
  std::string content(bytes, '\0');
  const auto read = ::pread(opened.file.get(), content.data(), bytes, 0);
  content.resize(read < 0 ? 0 : static_cast<std::size_t>(read));
  return content;
}

TEST_P(ArtifactStoreConformance, WhatWasStoredIsRead) {  // S13
  const std::string large(700'000, 'x');
  for (const std::string& content : {std::string(), std::string("hello\n"), large}) {
    const auto artifact = store().put("notes", "text/plain", content);
    ASSERT_TRUE(artifact) << artifact.error().message;
    EXPECT_EQ(artifact->bytes, content.size());
    EXPECT_EQ(artifact->sha256, sha256(content));
    EXPECT_EQ(artifact->name, "notes");
    EXPECT_EQ(store().get(artifact->sha256).value(), content);
    EXPECT_TRUE(store().has(artifact->sha256).value());
    EXPECT_EQ(store().size_of(artifact->sha256).value(), artifact->bytes);
    EXPECT_EQ(listed_bytes(artifact->sha256), content.size());
    const auto opened = store().open(artifact->sha256, content.size());
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ(whole_of(*opened, content.size() + 1), content);
  }
}

TEST_P(ArtifactStoreConformance, WhatIsScannedComesInParts) {  // N4
  std::string content;
  for (int line = 0; content.size() < 900'000; ++line) content += std::to_string(line) + "\n";
  const Digest digest = put(content);
  std::string scanned;
  std::size_t longest = 0;
  const auto take = [&](std::string_view part) {
    scanned += part;
    longest = std::max(longest, part.size());
  };
  const auto done = store().scan(digest, take);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(scanned, content);
  EXPECT_LT(longest, content.size() / 2);
  EXPECT_EQ(store().scan(sha256("nobody has it"), take).error().kind, StoreError::Kind::not_found);
  content.back() = '!';
  site_->change(digest, content);
  EXPECT_EQ(store().scan(digest, take).error().kind, StoreError::Kind::damaged);
}

TEST_P(ArtifactStoreConformance, WhatIsntThereIsNotFound) {
  const Digest unknown = sha256("nobody has it");
  EXPECT_EQ(store().get(unknown).error().kind, StoreError::Kind::not_found);
  EXPECT_EQ(store().open(unknown, 1).error().kind, StoreError::Kind::not_found);
  EXPECT_FALSE(store().has(unknown).value());
  EXPECT_EQ(listed_bytes(unknown), std::nullopt);
  EXPECT_EQ(store().remove_older(unknown, SystemClock().wall_ns()).value(), 0U);
}

TEST_P(ArtifactStoreConformance, WhatWasChangedIsNotServedAndIsHealedByStoringItAgain) {  // S13
  const Digest digest = put("hello\n");
  for (const std::string& changed :
       {std::string("hellO\n"), std::string("hello"), std::string(900'000, 'y')}) {
    site_->change(digest, changed);
    const auto damaged = store().get(digest);
    ASSERT_FALSE(damaged);
    EXPECT_EQ(damaged.error().kind, StoreError::Kind::damaged);
    EXPECT_EQ(damaged.error().file, store().location_of(digest));
    put("hello\n");
    EXPECT_EQ(store().get(digest).value(), "hello\n");
  }
}

TEST_P(ArtifactStoreConformance, WhatSomebodyElseHasStoredIsConfirmedByItsSizeAndDigest) {  // N4
  EXPECT_FALSE(store().confirm(sha256("nobody has it"), 13).value());
  const Digest digest = put("hello\n");
  EXPECT_TRUE(store().confirm(digest, 6).value());
  EXPECT_FALSE(store().confirm(digest, 5).value());
  for (const std::string& changed : {std::string("hellO\n"), std::string("hello")}) {
    site_->change(digest, changed);
    EXPECT_FALSE(store().confirm(digest, 6).value()) << changed;
    put("hello\n");
    EXPECT_TRUE(store().confirm(digest, 6).value());
  }
}

TEST_P(ArtifactStoreConformance, PartsAreReadOfWhatIsStored) {  // N4
  const std::string content = "one two three\n" + std::string(100'000, 'x');
  const Digest digest = put(content);
  for (const auto& [offset, bytes] : {std::pair<std::size_t, std::size_t>{0, 3},
                                      {4, 3},
                                      {0, content.size()},
                                      {content.size() - 1, 1},
                                      {5, 0}}) {
    EXPECT_EQ(store().get_part(digest, offset, bytes).value(), content.substr(offset, bytes));
    const auto opened = store().open_part(digest, offset, bytes);
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ(whole_of(*opened, opened->begins + bytes).substr(opened->begins),
              content.substr(offset, bytes));
  }
  for (const auto& [offset, bytes] : {std::pair<std::size_t, std::size_t>{content.size(), 1},
                                      {content.size() - 1, 2},
                                      {content.size() + 9, 3}}) {
    EXPECT_EQ(store().get_part(digest, offset, bytes).error().kind, StoreError::Kind::damaged);
    EXPECT_EQ(store().open_part(digest, offset, bytes).error().kind, StoreError::Kind::damaged);
  }
  const Digest unknown = sha256("nobody has it");
  EXPECT_EQ(store().get_part(unknown, 0, 1).error().kind, StoreError::Kind::not_found);
  EXPECT_EQ(store().open_part(unknown, 0, 1).error().kind, StoreError::Kind::not_found);
}

TEST_P(ArtifactStoreConformance, ManyStoreTheSameAtTheSameTime) {
  std::vector<std::thread> writers;
  for (int index = 0; index < 4; ++index) {
    writers.emplace_back([this] {
      for (int round = 0; round < 5; ++round) {
        EXPECT_TRUE(store().put("n", "text/plain", "round " + std::to_string(round)));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  for (int round = 0; round < 5; ++round) {
    const Digest digest = sha256("round " + std::to_string(round));
    EXPECT_TRUE(listed(static_cast<std::uint8_t>(digest.bytes[0])).contains(digest));
    EXPECT_EQ(store().get(digest).value(), "round " + std::to_string(round));
  }
}

TEST_P(ArtifactStoreConformance, AllAreListedByTheFirstByteOfTheirDigest) {  // A15
  std::set<Digest> stored;
  for (int each = 0; stored.size() < 5; ++each) {  // several pages, of those that have pages of two
    const std::string content = "blob " + std::to_string(each);
    if (static_cast<std::uint8_t>(sha256(content).bytes[0]) == 0xab) stored.insert(put(content));
  }
  put("hello\n");  // 0x58…
  EXPECT_EQ(listed(0xab), stored);
  EXPECT_EQ(listed(0x58).size(), 1U);
  EXPECT_TRUE(listed(0xac).empty());
}

TEST_P(ArtifactStoreConformance, WhatIsRemovedIsGoneAndCanBeStoredAgain) {  // A15
  const Digest digest = put("hello\n");
  const std::int64_t later_ns = SystemClock().wall_ns() + 3600 * ns_per_s;
  EXPECT_GT(store().remove_older(digest, later_ns).value(), 0U);
  EXPECT_EQ(store().get(digest).error().kind, StoreError::Kind::not_found);
  EXPECT_EQ(store().remove_older(digest, later_ns).value(), 0U);
  put("hello\n");
  EXPECT_EQ(store().get(digest).value(), "hello\n");
}

TEST_P(ArtifactAgeConformance, OnlyWhatNobodyStoredLatelyIsRemoved) {  // A15
  const Digest digest = put("hello\n");
  const std::int64_t present_ns = SystemClock().wall_ns();
  const std::int64_t day_ns = unnamed_artifact_ms_min * ns_per_ms;
  EXPECT_EQ(store().remove_older(digest, present_ns - day_ns).value(), 0U);
  EXPECT_TRUE(store().has(digest).value());
  site_->set_time_of_all(present_ns - 2 * day_ns);
  put("hello\n");  // it is there already, and is used from now on
  EXPECT_EQ(store().remove_older(digest, present_ns - day_ns).value(), 0U);
  EXPECT_EQ(store().get(digest).value(), "hello\n");
  site_->set_time_of_all(present_ns - 2 * day_ns);
  EXPECT_GT(store().remove_older(digest, present_ns - day_ns).value(), 0U);
  EXPECT_FALSE(store().has(digest).value());
  EXPECT_EQ(store().remove_older(digest, present_ns - day_ns).value(), 0U);
}

TEST_P(ArtifactAgeConformance, WhatWasConfirmedIsAsGoodAsStoredNow) {  // A15, N4
  const Digest digest = put("hello\n");
  const std::int64_t present_ns = SystemClock().wall_ns();
  const std::int64_t day_ns = unnamed_artifact_ms_min * ns_per_ms;
  site_->set_time_of_all(present_ns - 2 * day_ns);
  EXPECT_TRUE(store().confirm(digest, 6).value());
  EXPECT_EQ(store().remove_older(digest, present_ns - day_ns).value(), 0U);
  EXPECT_EQ(store().get(digest).value(), "hello\n");
}

const StoreKind directory_kind{"directory", [] { return std::make_unique<DirectorySite>(); }};
const StoreKind objects_kind{"objects", [] { return std::make_unique<ObjectSite>(true); }};
const StoreKind unconditional_kind{"objects_without_conditions",
                                   [] { return std::make_unique<ObjectSite>(false); }};
const StoreKind service_kind{"service", [] { return std::make_unique<ServiceSite>(); }};
const StoreKind swift_kind{"swift", swift_site};

std::string name_of_kind(const testing::TestParamInfo<StoreKind>& tested) {
  return tested.param.name;
}

INSTANTIATE_TEST_SUITE_P(Every, ArtifactStoreConformance,
                         ::testing::Values(directory_kind, objects_kind, unconditional_kind,
                                           service_kind, swift_kind),
                         name_of_kind);
INSTANTIATE_TEST_SUITE_P(Aging, ArtifactAgeConformance,
                         ::testing::Values(directory_kind, objects_kind, unconditional_kind,
                                           service_kind),
                         name_of_kind);

}  // namespace
}  // namespace signalbox
