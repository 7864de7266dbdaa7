// URLs by which somebody without credentials stores one content, and what a service makes of what
// came that way; and runners that use them, or can't.
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <chrono>
#include <string>
#include <vector>

#include "domain/limits.h"
#include "domain/nanoseconds.h"
#include "server/limits.h"
#include "server/platform/attempt_bundle.h"
#include "server/platform/clock.h"
#include "server/platform/http_request.h"
#include "server/platform/s3_artifacts.h"
#include "server/platform/service_artifacts.h"
#include "server/rpc/uploads.h"
#include "store/base64.h"
#include "store/sha256.h"
#include "tests/fixtures/s3_endpoint.h"
#include "tests/server/executor_fixture.h"
#include "tools/cli/json_fields.h"
#include "tools/runner/artifact_uploads.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class UploadUrlTest : public ::testing::Test {
 protected:
  S3Settings settings() const {
    S3Settings made;
    made.endpoint = endpoint_.url();
    made.region = "us-east-1";
    made.bucket = test::S3Endpoint::bucket;
    made.prefix = "team/";
    made.credentials = [] {
      return AwsCredentials{test::S3Endpoint::key_id, test::S3Endpoint::secret, {}};
    };
    return made;
  }
  // Returns the status with which the store answers who puts `content` by the URL.
  static long put_by(const UploadUrl& upload, const std::string& content) {
    OutgoingRequest request;
    request.method = "PUT";
    request.url = upload.url;
    request.headers = upload.headers;
    request.content = content;
    request.follow = false;
    const auto sent = send(request, {});
    EXPECT_TRUE(sent) << sent.error().message;
    return sent ? sent->status : 0;
  }
  UploadUrl url_for(const std::string& content, std::int64_t wall_ns = SystemClock().wall_ns()) {
    const auto given = store_.upload_url(sha256(content), content.size(), wall_ns);
    EXPECT_TRUE(given && *given);
    return given && *given ? **given : UploadUrl{};
  }
  bool is_confirmed(const std::string& content) {
    return store_.confirm(sha256(content), content.size()).value();
  }

  TemporaryDirectory directory_;
  test::S3Endpoint endpoint_;
  S3Artifacts store_{settings(), directory_.path()};
};

TEST_F(UploadUrlTest, WhoHasOneStoresThatContentAndNoOther) {  // N4
  const std::string content = "hello\n";
  const UploadUrl upload = url_for(content);
  EXPECT_EQ(upload.url.find(test::S3Endpoint::secret), std::string::npos);
  EXPECT_FALSE(is_confirmed(content));
  EXPECT_EQ(put_by(upload, "hellO\n"), 400) << "another digest";
  EXPECT_EQ(put_by(upload, "hello"), 403) << "another size";
  EXPECT_FALSE(is_confirmed(content));
  EXPECT_EQ(put_by(upload, content), 200);
  EXPECT_TRUE(is_confirmed(content));
  EXPECT_EQ(store_.get(sha256(content)).value(), content);
}

// The service may reach the store where no runner does.
TEST_F(UploadUrlTest, ItIsOfTheAddressThatRunnersReach) {  // N4
  S3Settings elsewhere = settings();
  elsewhere.runner_endpoint =
      "http://localhost" + endpoint_.url().substr(std::string("http://127.0.0.1").size());
  S3Artifacts store(elsewhere, directory_.path());
  const std::string content = "hello\n";
  const auto given = store.upload_url(sha256(content), content.size(), SystemClock().wall_ns());
  ASSERT_TRUE(given && *given);
  EXPECT_TRUE((*given)->url.starts_with(elsewhere.runner_endpoint + "/")) << (*given)->url;
  EXPECT_EQ(put_by(**given, content), 200) << "the host is signed";
  EXPECT_TRUE(is_confirmed(content));
}

TEST_F(UploadUrlTest, NothingThatIsThereIsReplacedByIt) {  // N4
  const std::string content = "hello\n";
  const UploadUrl upload = url_for(content);
  EXPECT_EQ(put_by(upload, content), 200);
  EXPECT_EQ(put_by(upload, content), 412);
  UploadUrl other = upload;
  other.headers.erase(other.headers.begin() + 1);
  EXPECT_EQ(put_by(other, content), 403) << "the condition is signed";
  other = upload;
  other.url.replace(other.url.find("/team/"), 6, "/them/");
  EXPECT_EQ(put_by(other, content), 403) << "so is the key";
}

TEST_F(UploadUrlTest, ItIsGoodForAShortTime) {  // N4
  const UploadUrl upload = url_for("hello\n");
  EXPECT_NE(upload.url.find("X-Amz-Expires=" + std::to_string(limits::upload_url_ms_max / 1000)),
            std::string::npos);
  UploadUrl longer = upload;
  longer.url.replace(longer.url.find("X-Amz-Expires="), 14, "X-Amz-Expires=9");
  EXPECT_EQ(put_by(longer, "hello\n"), 403);
  const std::int64_t now_ns = SystemClock().wall_ns();
  const std::int64_t minute_ns = 60 * ns_per_s;
  const std::int64_t valid_ns = limits::upload_url_ms_max * ns_per_ms;
  EXPECT_EQ(put_by(url_for("hello\n", now_ns - valid_ns - minute_ns), "hello\n"), 403);
  EXPECT_EQ(put_by(url_for("hello\n", now_ns - valid_ns + minute_ns), "hello\n"), 200);
}

// A store that takes what it is given: the digest is found out by reading, and nobody is misled.
TEST_F(UploadUrlTest, WhatAStoreWithoutChecksumsTookIsRead) {  // N4
  endpoint_.know_no_checksums();
  const std::string content = "hello\n";
  const UploadUrl upload = url_for(content);
  EXPECT_EQ(put_by(upload, "hellO\n"), 200);
  EXPECT_FALSE(is_confirmed(content));
  EXPECT_EQ(put_by(upload, content), 412);
  // It holds up nobody who has the content: what comes through the service replaces it.
  const auto added = add_upload_piece(directory_.path() / "uploads", store_,
                                      {"runner:a", sha256(content), content.size(), 0, content});
  ASSERT_TRUE(added) << added.error().message;
  EXPECT_TRUE(added->complete);
  EXPECT_TRUE(is_confirmed(content));
  EXPECT_EQ(store_.get(sha256(content)).value(), content);
}

// One that ignores a condition would let the holder of a URL replace what others have stored.
TEST_F(UploadUrlTest, AStoreThatIsNotSeenToKeepAConditionGivesNone) {  // N4
  endpoint_.ignore_conditions();
  for (int each = 0; each < 2; ++each) {
    const auto none = store_.upload_url(sha256("hello\n"), 6, SystemClock().wall_ns());
    ASSERT_TRUE(none) << none.error().message;
    EXPECT_FALSE(*none);
  }
  EXPECT_TRUE(store_.put("n", "text/plain", "hello\n"));
}

TEST_F(UploadUrlTest, NeitherDoesOneThatRefusesConditions) {  // N4
  endpoint_.know_no_conditions();
  const auto none = store_.upload_url(sha256("hello\n"), 6, SystemClock().wall_ns());
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_FALSE(*none);
}

TEST_F(UploadUrlTest, WhatAStoreTellsNoSizeOfIsConfirmedByItsListing) {  // N4
  ASSERT_TRUE(store_.put("n", "text/plain", "hello\n"));
  endpoint_.hide_sizes();
  EXPECT_TRUE(is_confirmed("hello\n"));
  EXPECT_FALSE(store_.confirm(sha256("hello\n"), 5).value());
  EXPECT_FALSE(is_confirmed("other\n"));
}

TEST_F(UploadUrlTest, AMissingBucketIsNoMissingObject) {  // N4
  endpoint_.drop_bucket();
  const auto denied = store_.confirm(sha256("hello\n"), 6);
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().kind, StoreError::Kind::denied);
  EXPECT_NE(denied.error().message.find("NoSuchBucket"), std::string::npos);
}

TEST_F(UploadUrlTest, AQuestionMakesNoFile) {  // N4
  const auto uploads = directory_.path() / "uploads";
  const auto asked = add_upload_piece(uploads, store_, {"runner:a", sha256("hello\n"), 6, 0, ""});
  ASSERT_TRUE(asked) << asked.error().message;
  EXPECT_FALSE(asked->complete);
  EXPECT_EQ(asked->next_offset, 0U);
  EXPECT_FALSE(std::filesystem::exists(uploads));
}

TEST_F(UploadUrlTest, ADirectoryGivesNone) {  // N4
  ServiceArtifacts plain(directory_.path() / "artifacts");
  EXPECT_FALSE(plain.upload_url(sha256("hello\n"), 6, 0).value());
}

// What a service has from before it used a store is stored there with the next upload.
TEST_F(UploadUrlTest, WhatOnlyTheDirectoryHasIsConfirmedAndStored) {  // N4
  DirectoryArtifacts before(directory_.path() / "artifacts");
  ASSERT_TRUE(before.put("n", "text/plain", "hello\n"));
  ServiceArtifacts now(directory_.path() / "artifacts", settings());
  EXPECT_TRUE(now.confirm(sha256("hello\n"), 6).value());
  EXPECT_EQ(endpoint_.objects().size(), 1U);
}

// A runner, and a service that answers it as `runner.upload` does.
class ArtifactUploadsTest : public UploadUrlTest {
 protected:
  Called<json::object> answer(const json::object& params) {
    ++calls_;
    const auto content = from_base64(text_at(params, "content")).value();
    bytes_through_service_ += content.size();
    UploadPiece piece{"runner:a", parse_digest(text_at(params, "sha256")).value(),
                      number_at(params, "bytes"), number_at(params, "offset"), content};
    const auto added = add_upload_piece(directory_.path() / "uploads", store_, piece);
    if (!added) return tl::unexpected(from_store_error(added.error()));
    json::object result{{"complete", added->complete}, {"next_offset", added->next_offset}};
    if (added->complete || !true_at(params, "wants_url") || !gives_urls_) return result;
    const UploadUrl upload =
        store_.upload_url(piece.sha256, piece.bytes, SystemClock().wall_ns()).value().value();
    json::object headers;
    for (const auto& [name, value] : upload.headers) headers[name] = value;
    result["direct"] =
        json::object{{"url", url_.empty() ? upload.url : url_}, {"headers", std::move(headers)}};
    return result;
  }
  Artifact left(const std::string& content) {
    return here_.put("n", "text/plain", content).value();
  }
  void expect_upload(const Artifact& artifact) {
    const auto sent = uploads_.upload({artifact}, false);
    EXPECT_TRUE(sent) << message_of(sent.error());
    EXPECT_EQ(store_.get(artifact.sha256).value(), here_.get(artifact.sha256).value());
  }

  const std::string large_ = std::string(limits::upload_piece_bytes_max + 7, 'x');
  DirectoryArtifacts here_{directory_.path() / "runner"};
  bool gives_urls_ = true;
  bool stops_ = false;
  std::string url_;  // instead of the right one
  int calls_ = 0;
  std::size_t bytes_through_service_ = 0;
  std::vector<std::string> log_;
  ArtifactUploads uploads_{
      here_, true, [this](const json::object& params) { return answer(params); },
      [this] { return stops_; }, [this](bool, const std::string& text) { log_.push_back(text); }};
};

TEST_F(ArtifactUploadsTest, GoStraightIntoTheStoreByOnePut) {  // N4
  expect_upload(left(large_));
  EXPECT_EQ(endpoint_.requests("PUT"), 1);
  EXPECT_EQ(bytes_through_service_, 0U);
  EXPECT_EQ(calls_, 2);  // where to, and whether it is there
  expect_upload(left(large_));
  EXPECT_EQ(endpoint_.requests("PUT"), 1) << "it was there";
  EXPECT_EQ(calls_, 3);
  expect_upload(left(""));
  EXPECT_TRUE(log_.empty());
}

TEST_F(ArtifactUploadsTest, GoThroughTheServiceWhereTheStoreCannotBeReached) {  // N4
  endpoint_.refuse_urls(403);
  expect_upload(left(large_));
  EXPECT_EQ(bytes_through_service_, large_.size());
  ASSERT_EQ(log_.size(), 1U);
  EXPECT_NE(log_[0].find("HTTP 403"), std::string::npos) << log_[0];
  EXPECT_EQ(log_[0].find("X-Amz"), std::string::npos) << log_[0];
  const int tried = endpoint_.url_requests();
  expect_upload(left("another\n"));
  EXPECT_EQ(endpoint_.url_requests(), tried) << "it isn't tried for each";
  EXPECT_EQ(log_.size(), 1U);
}

TEST_F(ArtifactUploadsTest, GoThroughTheServiceIfItsUrlIsNoneToUse) {  // N4
  for (const char* url :
       {"http://example.org/x", "ftp://localhost/x", "nonsense", "http://127.0.0.1:1/x"}) {
    url_ = url;
    ArtifactUploads uploads(
        here_, true, [this](const json::object& params) { return answer(params); },
        [] { return false; }, [this](bool, const std::string& text) { log_.push_back(text); });
    const Artifact artifact = left(std::string("content for ") + url);
    EXPECT_TRUE(uploads.upload({artifact}, false)) << url;
    EXPECT_TRUE(store_.has(artifact.sha256).value());
  }
  EXPECT_EQ(log_.size(), 4U);
  EXPECT_EQ(endpoint_.url_requests(), 0);
}

// Whoever listens there isn't the service's store.
TEST_F(ArtifactUploadsTest, OfAServiceElsewhereGoToNoStoreOfThisMachine) {  // N4, P11
  ArtifactUploads uploads(
      here_, false, [this](const json::object& params) { return answer(params); },
      [] { return false; }, [this](bool, const std::string& text) { log_.push_back(text); });
  const Artifact artifact = left(large_);
  EXPECT_TRUE(uploads.upload({artifact}, false));
  EXPECT_TRUE(store_.has(artifact.sha256).value());
  EXPECT_EQ(bytes_through_service_, large_.size());
  EXPECT_EQ(endpoint_.url_requests(), 0);
  ASSERT_EQ(log_.size(), 1U);
  EXPECT_NE(log_[0].find("of the service's machine only"), std::string::npos) << log_[0];
}

TEST_F(ArtifactUploadsTest, GoThroughAServiceThatGivesNoUrls) {  // N4
  gives_urls_ = false;
  expect_upload(left(large_));
  expect_upload(left("another\n"));
  EXPECT_EQ(calls_, 4) << "it is asked once";
  EXPECT_TRUE(log_.empty());
}

TEST_F(ArtifactUploadsTest, OfAnAttemptAreOneObject) {  // N4
  const std::vector<Artifact> left_ones{left("a\n"), left(large_), left("a\n"), left("")};
  const auto named = uploads_.upload(left_ones, true);
  ASSERT_TRUE(named) << message_of(named.error());
  EXPECT_EQ(endpoint_.requests("PUT"), 1);
  EXPECT_EQ(endpoint_.objects().size(), 1U);
  ASSERT_EQ(named->size(), left_ones.size() + 1);
  EXPECT_TRUE(is_bundle(named->back()));
  for (const Artifact& artifact : left_ones) {
    const ArtifactPlace place = place_of(*named, artifact);
    ASSERT_TRUE(place.part);
    EXPECT_EQ(store_.get_at(place).value(), here_.get(artifact.sha256).value());
  }
  EXPECT_EQ(uploads_.upload(left_ones, true).value(), *named) << "repeated after a kill";
  EXPECT_EQ(endpoint_.requests("PUT"), 1);
}

TEST_F(ArtifactUploadsTest, ThatAreOneObjectAnywayMakeNoBundle) {  // N4
  EXPECT_EQ(uploads_.upload({left("a\n")}, true).value().size(), 1U);
  EXPECT_TRUE(uploads_.upload({}, true).value().empty());
  // One that says that it is a bundle mustn't stand before ours.
  Artifact liar = left("b\n");
  liar.media_type = bundle_media_type;
  EXPECT_EQ(uploads_.upload({left("a\n"), liar}, true).value().size(), 2U);
  EXPECT_EQ(endpoint_.objects().size(), 2U);
}

// Two attempts that leave the same large file leave it once.
TEST_F(ArtifactUploadsTest, LargeOnesAreBesideABundle) {  // N4
  const Artifact large = left(std::string(limits::bundled_artifact_bytes_max + 1, 'x'));
  const Artifact fits = left(std::string(limits::bundled_artifact_bytes_max, 'y'));
  const auto named = uploads_.upload({large, left("a\n"), fits}, true);
  ASSERT_TRUE(named) << message_of(named.error());
  ASSERT_EQ(named->size(), 4U);
  EXPECT_EQ(named->back(), large);
  EXPECT_FALSE(place_of(*named, large).part);
  EXPECT_TRUE(place_of(*named, fits).part);
  EXPECT_EQ(endpoint_.requests("PUT"), 2);
  EXPECT_TRUE(uploads_.upload({large, left("b\n"), left("c\n")}, true));
  EXPECT_EQ(endpoint_.requests("PUT"), 3);
}

TEST_F(ArtifactUploadsTest, OfWhichOneIsGoneAreRefused) {  // N4
  const std::vector<Artifact> left_ones{left("a\n"), left("b\n")};
  std::filesystem::remove(here_.path_of(left_ones.back().sha256));
  const auto gone = uploads_.upload(left_ones, true);
  ASSERT_FALSE(gone);
  EXPECT_EQ(code_of(gone.error()), ArtifactUploads::gone_code);
  EXPECT_TRUE(endpoint_.objects().empty());
}

// It is tried again; one that is gone would replace the result by a failure.
TEST_F(ArtifactUploadsTest, OfWhichOneCantBeReadNowAreNotGone) {  // N4
  const Artifact kept = left("a\n");
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  const rlimit none{0, files.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto unread = uploads_.upload({kept}, true);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
  ASSERT_FALSE(unread);
  EXPECT_NE(code_of(unread.error()), ArtifactUploads::gone_code) << message_of(unread.error());
  EXPECT_TRUE(uploads_.upload({kept}, true));
}

// The answer to the upload is lost, or comes from something between here and the store.
TEST_F(ArtifactUploadsTest, CountOnceTheServiceHasFoundThem) {  // N4
  endpoint_.fail_next({.method = "PUT", .status = 200, .body = "<html>Welcome</html>"});
  expect_upload(left(large_));
  EXPECT_EQ(bytes_through_service_, large_.size());
  ASSERT_EQ(log_.size(), 1U);
  EXPECT_NE(log_[0].find("doesn't find there"), std::string::npos) << log_[0];
}

TEST_F(ArtifactUploadsTest, GoStraightAgainOnceTheServiceHasFoundOne) {  // N4
  ArtifactUploads uploads(
      here_, true, [this](const json::object& params) { return answer(params); },
      [] { return false; }, [this](bool, const std::string& text) { log_.push_back(text); },
      std::chrono::milliseconds(0));
  for (const char* content : {"one\n", "two\n"}) {
    endpoint_.fail_next({.method = "PUT", .status = 200, .body = "<html>Welcome</html>"});
    EXPECT_TRUE(uploads.upload({left(content)}, false));
    EXPECT_EQ(log_.size(), 1U) << "what was answered isn't what is there";
  }
  EXPECT_TRUE(uploads.upload({left("three\n")}, false));
  ASSERT_EQ(log_.size(), 2U);
  EXPECT_EQ(log_[1], "artifacts go straight into the store again");
}

}  // namespace
}  // namespace signalbox
