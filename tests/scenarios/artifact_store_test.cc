// A service that keeps its artifacts in a store of objects, with the real binary: where they are,
// who reads them, and what a store does to it that is away, was changed, or refuses.
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>

#include "domain/nanoseconds.h"
#include "server/limits.h"
#include "server/platform/artifact_store.h"
#include "server/platform/clock.h"
#include "tests/scenarios/artifact_store_fixture.h"
#include "tests/scenarios/http_client.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

TEST_F(ArtifactStoreScenario, ArtifactsAreInTheStoreAndReadFromThere) {  // S13
  const std::string run_id = finished_run();
  expect_all_stored(run_id);
  EXPECT_EQ(endpoint_.objects().at(key_of("hello")).content, "hello");
  EXPECT_FALSE(fs::exists(server_.data() / "artifacts" / "sha256"));
  EXPECT_EQ(artifact(run_id, "a.txt").out, "hello");
  EXPECT_EQ(artifact(run_id, "c.txt").out, "0\n");

  HttpClient client(server_.socket());
  const std::string path = "/v1/runs/" + run_id + "/artifacts/";
  EXPECT_EQ(client.get(path + "b.txt").body(), large());
  const HttpReply part = client.get(path + "b.txt", {{"Range", "bytes=2-5"}});
  EXPECT_EQ(part.status, 206U);
  EXPECT_EQ(part.body(), large().substr(2, 4));

  const json::value now = result({"status"}).at("durable_position");
  EXPECT_EQ(
      text(rpc("run.artifact", {{"run_id", run_id}, {"name", "a.txt"}, {"at", now}}), "content"),
      "hello");
}

TEST_F(ArtifactStoreScenario, WithoutAServiceTheNoteSaysWhereTheyAre) {  // R6
  const std::string run_id = finished_run();
  server_.stop();
  const json::object result = exported(run_id);
  EXPECT_EQ(result.at("artifacts"), 5);
  EXPECT_TRUE(result.at("missing_artifacts").as_array().empty());
}

TEST_F(ArtifactStoreScenario, AResultWaitsForAStoreThatIsAwayAndSurvivesKills) {  // S13, G6
  endpoint_.refuse_all(503);
  const std::string run_id = start_run_of(leaving_pipeline, "leave files");
  await([&] {
    return server_.cli({"run", "why", run_id}).out.find("HTTP 503") != std::string::npos;
  });
  EXPECT_NE(text(run(run_id), "status"), "succeeded");
  // Others go on meanwhile.
  const std::string other = start_run("of an outside worker");
  EXPECT_EQ(complete(other, "plan", claim(other), "succeeded").exit_code, 0);
  const json::object trouble =
      result({"status"}).at("artifact_store").as_object().at("trouble").as_object();
  EXPECT_NE(text(trouble, "message").find("HTTP 503"), std::string::npos);
  server_.kill();
  endpoint_.refuse_all(0);
  // An answer that is lost leaves an object, and the next call finds it.
  endpoint_.fail_next({.method = "PUT", .take_effect = true, .cut = true});
  server_.start();
  await_status(run_id, "succeeded");
  expect_all_stored(run_id);
  EXPECT_EQ(artifact(run_id, "a.txt").out, "hello");
  EXPECT_TRUE(result({"status"}).at("artifact_store").as_object().at("trouble").is_null());
}

TEST_F(ArtifactStoreScenario, WhatWasChangedOrIsAwayIsRefusedByItsCode) {  // S13
  const std::string run_id = finished_run();
  endpoint_.change(key_of("hello"), "hellO");
  endpoint_.change(key_of(large()), large() + "more");
  EXPECT_EQ(text(artifact_error(run_id, "a.txt").at("data").as_object(), "code"),
            "STORAGE_DAMAGED");
  HttpClient client(server_.socket());
  EXPECT_EQ(client.get("/v1/runs/" + run_id + "/artifacts/b.txt").code(), "STORAGE_DAMAGED");
  endpoint_.refuse_all(403);
  const json::object away = artifact_error(run_id, "c.txt");
  EXPECT_EQ(text(away.at("data").as_object(), "code"), "STORAGE_AWAY");
  EXPECT_NE(text(away, "message").find("AccessDenied"), std::string::npos);
  EXPECT_EQ(server_.cli({"run", "artifact", run_id, "c.txt"}).exit_code, 75);
  EXPECT_EQ(client.get("/v1/runs/" + run_id + "/artifacts/b.txt").status, 503U);
  EXPECT_EQ(text(run(run_id), "status"), "succeeded");
}

// Each download has a copy on the disk until it was read, and there is room for some.
TEST_F(ArtifactStoreScenario, WhoReadsNoDownloadLeavesPlacesToOthers) {  // S13, G7
  const std::string path = "/v1/runs/" + finished_run() + "/artifacts/b.txt";
  std::string secret = server_.cli({"access", "issue", "ci", "--role", "viewer"}).out;
  secret.pop_back();
  std::deque<HttpClient> readers;
  std::size_t begun = 0;
  for (std::size_t each = 0; each < limits::artifact_copies_max; ++each) {
    HttpClient& reader = readers.emplace_back(server_.socket());
    reader.send(reader.text("GET", path));
    begun += reader.read_until("\r\n\r\n").starts_with("HTTP/1.1 200") ? 1 : 0;
  }
  const HttpHeaders other{{"Authorization", "Bearer " + secret}};
  EXPECT_TRUE(HttpClient(server_.socket()).get(path, other).body() == large());
  EXPECT_EQ(begun, limits::artifact_copies_of_caller_max);
  EXPECT_EQ(HttpClient(server_.socket()).get(path).code(), "OVERLOADED");
  readers.clear();
  await([&] { return HttpClient(server_.socket()).get(path).status == 200; });
}

TEST_F(ArtifactStoreScenario, CredentialsAreInNoLogAnswerOrNote) {  // S13
  (void)finished_run();
  endpoint_.refuse_all(403);
  (void)start_run_of(leaving_pipeline, "leave files");
  ASSERT_TRUE(server_.logs("AccessDenied"));
  for (const std::string& shown : {server_.messages(), server_.cli({"status", "--json"}).out,
                                   content_of(server_.data() / "artifacts" / "store.json")}) {
    EXPECT_EQ(shown.find(test::S3Endpoint::secret), std::string::npos);
    EXPECT_EQ(shown.find(test::S3Endpoint::key_id), std::string::npos);
  }
}

TEST_F(ArtifactStoreScenario, JobsDontGetCredentialsThatTheServiceTakesFromItsEnvironment) {
  server_.stop();
  std::string settings = content_of(server_.data() / "signalbox.toml");
  const std::string line = "credentials = \"store-credentials\"\n";
  write_text(server_.data() / "signalbox.toml", settings.erase(settings.find(line), line.size()));
  ::setenv("AWS_ACCESS_KEY_ID", test::S3Endpoint::key_id, 1);
  ::setenv("AWS_SECRET_ACCESS_KEY", test::S3Endpoint::secret, 1);
  server_.start();
  ::unsetenv("AWS_ACCESS_KEY_ID");
  ::unsetenv("AWS_SECRET_ACCESS_KEY");
  EXPECT_EQ(artifact(finished_run(), "c.txt").out, "0\n");
}

TEST_F(ArtifactStoreScenario, TheRetentionOfFilesRemovesFromTheStore) {  // A15
  const std::string run_id = finished_run();
  server_.stop();
  write_settings("files_older_than = \"1s\"\nfiles_failed_runs = \"1s\"\n");
  std::ofstream(server_.data() / "signalbox.toml", std::ios::app) << artifact_settings();
  server_.start();
  await_gone(server_.data() / "runs" / run_id);
  EXPECT_TRUE(endpoint_.objects().contains(key_of("hello"))) << "stored less than a day ago";
  endpoint_.set_time_of_all(SystemClock().wall_ns() - 2 * unnamed_artifact_ms_min * ns_per_ms);
  await([&] {
    round();
    return endpoint_.objects().empty();
  });
  EXPECT_EQ(text(artifact_error(run_id, "a.txt").at("data").as_object(), "code"), "FILES_REMOVED");
}

// A copy of the data directory doesn't have what came later in its log, and would take it for what
// nobody names.
TEST_F(ArtifactStoreScenario, ACopyOfTheServiceRemovesNothingOfTheOriginal) {  // A15, G11
  const fs::path original = scratch_.path() / "original";
  const auto start_with = [this](const fs::path& from) {
    fs::rename(from, server_.data());
    server_.start();
  };
  server_.stop();
  write_settings("files_older_than = \"3650d\"\nfiles_failed_runs = \"3650d\"\n");
  std::ofstream(server_.data() / "signalbox.toml", std::ios::app) << artifact_settings();
  server_.start();
  round();
  const std::string owner = endpoint_.content_at("team/owner");
  EXPECT_NE(owner.find(server_.data().string()), std::string::npos) << owner;
  server_.stop();
  const fs::path copy = scratch_.path() / "copy";
  fs::copy(server_.data(), copy, fs::copy_options::recursive);
  server_.start();
  (void)finished_run();
  server_.stop();
  fs::rename(server_.data(), original);

  start_with(copy);
  endpoint_.set_time_of_all(ns_per_s);  // older than any run
  round();
  EXPECT_TRUE(endpoint_.objects().contains(key_of("hello")));
  const std::string refused = text(status().at("last").as_object(), "error");
  EXPECT_NE(refused.find("/team/owner says (" + owner + ")"), std::string::npos) << refused;
  // A plan removes nothing, and says nothing of the round that was to.
  const auto is_failed = [this](const char* value) {
    const std::string line = std::string("\nsignalbox_file_retention_failed ") + value + "\n";
    return text(rpc("server.metrics"), "text").find(line) != std::string::npos;
  };
  EXPECT_TRUE(is_failed("1"));
  rpc("loop.plan_files");
  EXPECT_TRUE(is_failed("1"));
  // Its operator follows the refusal, though the original isn't gone.
  endpoint_.remove("team/owner");
  round();
  EXPECT_TRUE(is_failed("0"));
  EXPECT_FALSE(endpoint_.objects().contains(key_of("hello")));
  server_.stop();
  fs::rename(server_.data(), copy);

  start_with(original);
  round();
  EXPECT_NE(text(status().at("last").as_object(), "error").find("another service"),
            std::string::npos);
}

TEST_F(ArtifactStoreScenario, AServiceThatChangesToAStoreKeepsWhatItHas) {  // S13
  server_.stop();
  const std::string with_store = content_of(server_.data() / "signalbox.toml");
  write_text(server_.data() / "signalbox.toml", "");
  server_.start();
  const std::string before = finished_run();
  EXPECT_TRUE(endpoint_.objects().empty());
  server_.stop();
  write_text(server_.data() / "signalbox.toml", with_store);
  server_.start();
  EXPECT_EQ(artifact(before, "a.txt").out, "hello");
  const std::string after = start_run("of an outside worker");
  const std::string token = claim(after);
  EXPECT_EQ(server_
                .cli({"station", "complete", "--run", after, "--station", "plan", "--token", token,
                      "--outcome", "succeeded", "--artifact", "note.txt=" + pipeline()})
                .exit_code,
            0);
  EXPECT_EQ(artifact(after, "note.txt").out, worker_pipeline);
  EXPECT_TRUE(endpoint_.objects().contains(key_of(worker_pipeline)));
}

}  // namespace
}  // namespace signalbox
