// Tests the parts of URLs, and which URLs the log doesn't take because of a secret in them.
#include "domain/url_parts.h"

#include <gtest/gtest.h>

#include "domain/pipeline.h"
#include "tests/domain/given_when_then.h"

namespace signalbox {
namespace {

TEST(UrlParts, AUrlHasSchemeUserAndHost) {
  const auto parts = url_parts("HTTPS://me:p@w@box.example.org:8443/jobs?id=1");
  ASSERT_TRUE(parts.has_value());
  EXPECT_EQ(parts->scheme, "https");
  EXPECT_EQ(parts->userinfo, "me:p@w");
  EXPECT_EQ(parts->host, "box.example.org");
  EXPECT_EQ(url_parts("http://[::1]:80/")->host, "[::1]");
  EXPECT_EQ(url_parts("http://127.0.0.1@evil.example/")->host, "evil.example");
  EXPECT_EQ(url_parts("http://127.0.0.1.evil.example/")->host, "127.0.0.1.evil.example");
  EXPECT_EQ(url_parts("http://host")->host, "host");
  EXPECT_EQ(url_parts("http://host/a@b")->userinfo, "");
  EXPECT_EQ(url_parts("svn+ssh2://host")->scheme, "svn+ssh2");
  for (const char* before : {"x,", "x:", "x@", "x[", "x`", "x{", " "}) {
    EXPECT_EQ(url_parts(std::string(before) + "Zz://host")->scheme, "zz") << before;
  }
  for (const char* text : {"", "/srv/git/app", "git@example.org:app.git", "origin", "://x"}) {
    EXPECT_FALSE(url_parts(text).has_value()) << text;
  }
}

TEST(UrlParts, ASecretIsAPasswordOrAUserThatMayBeAToken) {
  for (const char* text :
       {"https://user:pw@host/jobs", "https://token@host/app.git", "http://:pw@127.0.0.1/",
        "ssh://git:pw@host/app.git", "foreign::https://user:pw@host/", " https://u:p@host",
        "https://user:pw@host"}) {
    EXPECT_TRUE(has_credentials(text)) << text;
  }
  for (const char* text : {"https://host/jobs", "ssh://git@host/app.git", "git@host:app.git",
                           "git+ssh://git@host/app.git", "/srv/a@b", "https://host/@me", ""}) {
    EXPECT_FALSE(has_credentials(text)) << text;
  }
}

// The endpoint of a remote job is in the run's first event, and that is kept for ever.
TEST(UrlParts, AnEndpointWithAPasswordIsRefusedAndNotRepeated) {
  PipelineDefinition pipeline{"one", {worker_station("a")}};
  StationDefinition& station = pipeline.stations.front();
  station.executor = ExecutorKind::modal;
  station.modal.emplace();
  station.modal->endpoint = "https://box.example.org/jobs";
  ASSERT_TRUE(validate(pipeline).has_value());
  for (const char* endpoint :
       {"https://user:secret@box.example.org/jobs", "https://secret@box.example.org/",
        "http://127.0.0.1:secret@evil.example/"}) {
    station.modal->endpoint = endpoint;
    const auto refused = validate(pipeline);
    ASSERT_FALSE(refused.has_value()) << endpoint;
    EXPECT_EQ(refused.error().code, ErrorCode::PIPELINE_INVALID);
    EXPECT_EQ(refused.error().message.find("secret@"), std::string::npos);
    EXPECT_NE(refused.error().message.find("MODAL_TOKEN_ID"), std::string::npos);
  }
  // What only begins like a loopback address isn't one.
  for (const char* endpoint :
       {"http://127.0.0.1.evil.example/", "http://localhost.evil.example/"}) {
    station.modal->endpoint = endpoint;
    EXPECT_FALSE(validate(pipeline).has_value()) << endpoint;
  }
  for (const char* endpoint :
       {"http://127.0.0.1:8080/jobs", "http://localhost/", "http://[::1]:1/"}) {
    station.modal->endpoint = endpoint;
    EXPECT_TRUE(validate(pipeline).has_value()) << endpoint;
  }
}

TEST(UrlParts, ARemoteWithAPasswordIsRefused) {
  PipelineDefinition pipeline{"one", {builtin_station(BuiltinStation::create_pr)}};
  pipeline.stations.front().remote = "https://user:secret@box.example.org/app.git";
  ASSERT_FALSE(validate(pipeline).has_value());
  pipeline.stations.front().remote = "ssh://git@box.example.org/app.git";
  EXPECT_TRUE(validate(pipeline).has_value());
  PutProject put;
  put.name = "web";
  put.repository = "/srv/git/web";
  put.remote = "https://user:secret@box.example.org/app.git";
  const auto refused = decide(World{}, put, Now{});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::INVALID_PARAMS);
  EXPECT_NE(refused.error().message.find("credential helper"), std::string::npos);
  EXPECT_EQ(refused.error().message.find("secret"), std::string::npos);
  put.remote = "git@box.example.org:app.git";
  EXPECT_TRUE(decide(World{}, put, Now{}).has_value());
}

}  // namespace
}  // namespace signalbox
