// A store of objects that is away, refuses, hangs or lies; and a service that changed to one.
#include <gtest/gtest.h>

#include <vector>

#include "server/limits.h"
#include "server/platform/artifact_settings.h"
#include "server/platform/call_bounds.h"
#include "store/sha256.h"
#include "tests/fixtures/s3_endpoint.h"
#include "tests/server/executor_fixture.h"

namespace signalbox {
namespace {

class S3ArtifactsTest : public ::testing::Test {
 protected:
  S3Settings settings() const {
    S3Settings made;
    made.endpoint = endpoint_.url();
    made.region = "us-east-1";
    made.bucket = test::S3Endpoint::bucket;
    made.credentials = [this] { return credentials_; };
    return made;
  }

  TemporaryDirectory directory_;
  test::S3Endpoint endpoint_;
  AwsCredentials credentials_{test::S3Endpoint::key_id, test::S3Endpoint::secret, {}};
  S3Artifacts store_{settings(), directory_.path()};
};

TEST_F(S3ArtifactsTest, AStoreThatIsAwayIsAskedAgainOnlyAfterAPause) {  // G6
  endpoint_.refuse_all(503);
  const auto first = store_.put("n", "text/plain", "hello\n");
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().kind, StoreError::Kind::away);
  EXPECT_NE(first.error().message.find("HTTP 503 SlowDown"), std::string::npos);
  const int asked = endpoint_.all_requests();
  const auto second = store_.get(sha256("hello\n"));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, StoreError::Kind::away);
  EXPECT_EQ(endpoint_.all_requests(), asked);
  ASSERT_TRUE(store_.trouble());
  EXPECT_EQ(store_.trouble()->error.message, first.error().message);
}

TEST_F(S3ArtifactsTest, AStoreThatComesBackHasNoTroubleAnyMore) {
  StoreHealth health;
  health.note(StoreError{StoreError::Kind::away, "it is away", {}, 0});
  EXPECT_FALSE(health.admit());
  health.note(std::nullopt);
  EXPECT_TRUE(health.admit());
  EXPECT_FALSE(health.trouble());
}

TEST_F(S3ArtifactsTest, AStoreThatHangsHoldsUpTheCallerUntilItsDeadlineOnly) {  // G6
  endpoint_.fail_next({.method = "PUT", .hang = true});
  const CallBounds bounds(CallBounds::now_ms() + 50);
  const auto late = store_.put("n", "text/plain", "hello\n");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, StoreError::Kind::away);
  EXPECT_FALSE(store_.trouble()) << "the caller had no time, which says nothing of the store";
}

TEST_F(S3ArtifactsTest, WrongCredentialsAreDeniedAndNeverNamed) {
  credentials_.secret = "not-the-secret-of-this-key";
  const auto denied = store_.put("n", "text/plain", "hello\n");
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().kind, StoreError::Kind::denied);
  EXPECT_NE(denied.error().message.find("SignatureDoesNotMatch"), std::string::npos);
  EXPECT_EQ(denied.error().message.find(credentials_.secret), std::string::npos);
  EXPECT_TRUE(endpoint_.objects().empty());
}

TEST_F(S3ArtifactsTest, ABlobIsCreatedOnceAndTheAnswerMayGetLost) {
  endpoint_.fail_next({.method = "PUT", .take_effect = true, .cut = true});
  EXPECT_FALSE(store_.put("n", "text/plain", "hello\n"));
  EXPECT_EQ(endpoint_.objects().size(), 1U);
  S3Artifacts again(settings(), directory_.path());  // one that hasn't seen the failure
  EXPECT_TRUE(again.put("n", "text/plain", "hello\n"));
  EXPECT_EQ(endpoint_.objects().begin()->first,
            "sha256/58/91b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03");
  EXPECT_EQ(endpoint_.requests("PUT"), 2);  // the second found it, and read it
}

TEST_F(S3ArtifactsTest, CopiesForDownloadsAreBoundedAndLeaveNoFile) {
  const Digest digest = store_.put("n", "text/plain", "hello\n")->sha256;
  std::vector<OpenedBlob> opened;
  for (std::size_t each = 0; each < limits::artifact_copies_max; ++each) {
    auto copy = store_.open(digest, 6);
    ASSERT_TRUE(copy) << copy.error().message;
    opened.push_back(*std::move(copy));
  }
  EXPECT_EQ(store_.open(digest, 6).error().kind, StoreError::Kind::away);
  EXPECT_FALSE(store_.trouble());
  opened.pop_back();
  EXPECT_TRUE(store_.open(digest, 6));
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

// As with a proxy that passes no Range on.
TEST_F(S3ArtifactsTest, APartIsReadOfAWholeObjectToo) {  // N4
  const std::string content = "one two three\n" + std::string(2'000'000, 'x');
  const Digest digest = store_.put("n", "text/plain", content)->sha256;
  endpoint_.ignore_ranges();
  for (const auto& [offset, bytes] : {std::pair<std::size_t, std::size_t>{0, 3},
                                      {4, 3},
                                      {0, content.size()},
                                      {content.size() - 1, 1}}) {
    const auto part = store_.get_part(digest, offset, bytes);
    ASSERT_TRUE(part) << part.error().message;
    EXPECT_EQ(*part, content.substr(offset, bytes));
    EXPECT_TRUE(store_.open_part(digest, offset, bytes));
  }
  EXPECT_EQ(store_.get_part(digest, content.size() - 1, 2).error().kind, StoreError::Kind::damaged);
  EXPECT_FALSE(store_.trouble());
}

// The bundle has something else, and the artifact may still be there by itself.
TEST_F(S3ArtifactsTest, AStoreThatIsAwayIsNotTakenForADamagedPart) {  // N4
  const Digest bundle = store_.put("n", "text/plain", "hellO\n")->sha256;
  const ArtifactPlace place{sha256("hello\n"), 6, BundlePart{bundle, 0}};
  EXPECT_EQ(store_.get_at(place).error().kind, StoreError::Kind::damaged);
  EXPECT_EQ(store_.open_at(place).error().kind, StoreError::Kind::damaged);
  for (const bool is_opened : {false, true}) {
    endpoint_.fail_next({.method = "GET", .status = 206, .body = "hellO\n"});
    endpoint_.fail_next({.method = "GET", .status = 503});
    S3Artifacts fresh(settings(), directory_.path());
    const auto kind =
        is_opened ? fresh.open_at(place).error().kind : fresh.get_at(place).error().kind;
    EXPECT_EQ(kind, StoreError::Kind::away) << is_opened;
  }
  ASSERT_TRUE(store_.put("n", "text/plain", "hello\n"));
  EXPECT_EQ(store_.get_at(place).value(), "hello\n");
  EXPECT_TRUE(store_.open_at(place));
}

// Each part's listing would have all objects.
TEST_F(S3ArtifactsTest, WhoClaimedRemovalsFirstKeepsThem) {  // A15, G11
  ASSERT_TRUE(store_.claim_removals("one /data on a"));
  ASSERT_TRUE(store_.claim_removals("one /elsewhere on a")) << "its directory was moved";
  const auto refused = store_.claim_removals("other /data on b");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, StoreError::Kind::denied);
  EXPECT_NE(refused.error().message.find("s3://" + std::string(test::S3Endpoint::bucket) +
                                         "/owner says (one /data on a)"),
            std::string::npos)
      << refused.error().message;
  endpoint_.remove("owner");
  EXPECT_TRUE(store_.claim_removals("other /data on b")) << "as the refusal says";
  EXPECT_FALSE(store_.claim_removals("one /data on a"));
}

TEST_F(S3ArtifactsTest, AnAnswerThatIsLostLeavesTheClaim) {  // A15
  endpoint_.fail_next({.method = "PUT", .take_effect = true, .cut = true});
  EXPECT_FALSE(store_.claim_removals("one /data on a"));
  EXPECT_TRUE(S3Artifacts(settings(), directory_.path()).claim_removals("one /data on a"));
}

TEST_F(S3ArtifactsTest, AStoreThatListsSomethingElseIsNotReadToItsEnd) {  // A15
  endpoint_.put_at_most_per_page(1);
  ASSERT_TRUE(store_.put("n", "text/plain", "hello\n").has_value());
  ASSERT_TRUE(store_.put("n", "text/plain", "others\n").has_value());
  endpoint_.ignore_prefixes();
  const int asked = endpoint_.all_requests();
  const auto listed = store_.list(0, [](const KeptBlob&) { return true; });  // has none of both
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().kind, StoreError::Kind::away);
  EXPECT_EQ(endpoint_.all_requests(), asked + 1);
}

TEST_F(S3ArtifactsTest, AServiceThatChangedFindsWhatItsDirectoryHas) {
  const auto root = directory_.path() / "artifacts";
  DirectoryArtifacts before(root);
  const Artifact old = before.put("n", "text/plain", "old\n").value();
  ServiceArtifacts now(root, settings());
  const Artifact fresh = now.put("n", "text/plain", "new\n").value();
  EXPECT_EQ(endpoint_.objects().size(), 1U);
  EXPECT_FALSE(before.has(fresh.sha256).value());
  EXPECT_EQ(now.get(fresh.sha256).value(), "new\n");
  EXPECT_TRUE(now.location_of(fresh.sha256).starts_with("s3://"));
  const Artifact report = now.put_here("n", "text/plain", "report\n").value();
  endpoint_.refuse_all(503);
  EXPECT_EQ(now.get(old.sha256).value(), "old\n");
  EXPECT_EQ(now.location_of(old.sha256), before.location_of(old.sha256));
  EXPECT_EQ(now.get(report.sha256).value(), "report\n");
  EXPECT_EQ(now.get(fresh.sha256).error().kind, StoreError::Kind::away);
}

// Returns what is wrong with the settings, or "".
std::string trouble_with(const ArtifactTexts& texts) {
  const auto read = read_artifact_settings(texts);
  return read ? "" : read.error();
}

TEST(ArtifactSettingsTest, AreCheckedAndTheErrorNamesTheKey) {
  EXPECT_EQ(trouble_with({}), "");
  EXPECT_EQ(trouble_with({.store = "s3://bucket/a/b.c", .endpoint = {}}), "");
  EXPECT_EQ(trouble_with({.store = "s3://bucket/", .endpoint = {}}), "");
  EXPECT_FALSE(read_artifact_settings({})->has_value());
  const auto aws =
      read_artifact_settings({.store = "s3://bucket", .endpoint = {}, .region = "eu-west-1"});
  EXPECT_EQ((*aws)->endpoint, "https://s3.eu-west-1.amazonaws.com");
  EXPECT_EQ((*aws)->prefix, "");
  for (const char* store : {"s3:/bucket", "/var/artifacts", "s3://", "s3://Bucket", "s3://b",
                            "s3://bucket/a//b", "s3://bucket/../b", "s3://bucket/a b"}) {
    EXPECT_TRUE(trouble_with({.store = store, .endpoint = {}}).starts_with("artifacts.store"))
        << store;
  }
  for (const char* endpoint : {"ftp://host", "host", "http://example.org", "https://host/path",
                               "https://user:secret@host"}) {
    EXPECT_TRUE(trouble_with({.store = "s3://bucket", .endpoint = endpoint})
                    .starts_with("artifacts.endpoint"))
        << endpoint;
    EXPECT_TRUE(trouble_with({.store = "s3://bucket", .endpoint = {}, .runner_endpoint = endpoint})
                    .starts_with("artifacts.runner_endpoint"))
        << endpoint;
  }
  EXPECT_EQ(trouble_with({.store = "s3://bucket", .endpoint = "http://127.0.0.1:9000/"}), "");
  EXPECT_TRUE(trouble_with({.store = "s3://bucket", .endpoint = {}, .region = "a/b"})
                  .starts_with("artifacts.region"));
}

TEST(ArtifactSettingsTest, CredentialsAreReadFromAFileOfOurOwn) {
  const TemporaryDirectory directory;
  const std::string path = (directory.path() / "credentials").string();
  write_text(path,
             "# of the service\n[other]\naws_access_key_id = x\naws_secret_access_key = y\n"
             "[default]\naws_access_key_id = id\naws_secret_access_key=s/3+cret\n");
  std::filesystem::permissions(path, std::filesystem::perms(0600));
  const auto found = read_aws_credentials(path);
  ASSERT_TRUE(found) << found.error();
  EXPECT_EQ(found->key_id, "id");
  EXPECT_EQ(found->secret, "s/3+cret");
  std::filesystem::permissions(path, std::filesystem::perms(0644));
  EXPECT_NE(read_aws_credentials(path).error().find("chmod 600"), std::string::npos);
  write_text(path, "secret words");
  std::filesystem::permissions(path, std::filesystem::perms(0600));
  EXPECT_EQ(read_aws_credentials(path).error().find("secret words"), std::string::npos);
}

TEST(ArtifactSettingsTest, CommandsFindTheStoreByTheNoteOfTheService) {
  const TemporaryDirectory directory;
  test::S3Endpoint endpoint;
  ArtifactTexts texts{.store = std::string("s3://") + test::S3Endpoint::bucket,
                      .endpoint = endpoint.url()};
  EXPECT_EQ(open_artifacts(directory.path())->objects(), nullptr);
  ASSERT_TRUE(note_artifact_store(directory.path(), texts));
  EXPECT_NE(open_artifacts(directory.path())->objects(), nullptr);
  ASSERT_TRUE(note_artifact_store(directory.path(), {}));
  EXPECT_EQ(open_artifacts(directory.path())->objects(), nullptr);
}

}  // namespace
}  // namespace signalbox
