// A service that keeps its artifacts in a store of objects, with the real binary: where they are,
// who reads them, and what a store does to it that is away, was changed, or refuses.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "domain/nanoseconds.h"
#include "server/platform/artifact_store.h"
#include "server/platform/clock.h"
#include "store/sha256.h"
#include "tests/fixtures/s3_endpoint.h"
#include "tests/scenarios/file_retention_fixture.h"
#include "tests/scenarios/http_client.h"
#include "tests/scenarios/runner_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr const char* leaving_pipeline = R"(
name = "leaving"
[[station]]
name = "work"
executor = "process"
command = ["sh", "-c", "printf hello > $SIGNALBOX_ARTIFACTS_DIR/a.txt; seq 1 90000 > $SIGNALBOX_ARTIFACTS_DIR/b.txt; env | grep -c AWS_ > $SIGNALBOX_ARTIFACTS_DIR/c.txt; true"]
)";

class ArtifactStoreScenario : public WithFileRetention<CliTest> {
 protected:
  void SetUp() override {
    fs::create_directories(server_.data());
    const fs::path credentials = server_.data() / "store-credentials";
    write_text(credentials, std::string("[default]\naws_access_key_id = ") +
                                test::S3Endpoint::key_id +
                                "\naws_secret_access_key = " + test::S3Endpoint::secret + "\n");
    fs::permissions(credentials, fs::perms(0600));
    std::ofstream(server_.data() / "signalbox.toml") << artifact_settings();
    CliTest::SetUp();
  }

  [[nodiscard]] std::string artifact_settings() const {
    return "[artifacts]\nstore = \"s3://" + std::string(test::S3Endpoint::bucket) +
           "/team\"\nendpoint = \"" + endpoint_.url() + "\"\ncredentials = \"store-credentials\"\n";
  }
  static std::string key_of(const std::string& content) {
    const std::string hex = to_hex(sha256(content));
    return "team/sha256/" + hex.substr(0, 2) + "/" + hex.substr(2);
  }
  static std::string large() {
    std::string text;
    for (int line = 1; line <= 90'000; ++line) text += std::to_string(line) + "\n";
    return text;
  }
  [[nodiscard]] std::string finished_run() const {
    const std::string run_id = start_run_of(leaving_pipeline, "leave files");
    await_status(run_id, "succeeded");
    return run_id;
  }
  [[nodiscard]] Output artifact(const std::string& run_id, const std::string& name) const {
    return server_.cli({"run", "artifact", run_id, name});
  }
  [[nodiscard]] json::object artifact_error(const std::string& run_id,
                                            const std::string& name) const {
    const Output refused = server_.cli({"run", "artifact", run_id, name, "--json"});
    EXPECT_NE(refused.exit_code, 0) << refused.out;
    return one_object(refused).at("error").as_object();
  }
  // Expects that the store has each artifact that an event of the run names, and that there are so
  // many: three files, the summary and the log, and for a runner their bundle.
  void expect_all_stored(const std::string& run_id, int count = 5) {
    const auto objects = endpoint_.objects();
    int named = 0;
    const json::object shown = run(run_id);
    for (const json::value& station : shown.at("stations").as_array()) {
      for (const json::value& attempt : station.at("attempts").as_array()) {
        for (const json::value& each : attempt.at("artifacts").as_array()) {
          const std::string url = text(each.as_object(), "path");
          const std::string root = std::string("s3://") + test::S3Endpoint::bucket + "/";
          ASSERT_TRUE(url.starts_with(root)) << url;
          EXPECT_TRUE(objects.contains(url.substr(root.size()))) << url;
          ++named;
        }
      }
    }
    EXPECT_EQ(named, count);
  }

  test::S3Endpoint endpoint_;
};

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
  const std::string key = (scratch_.path() / "audit.key").string();
  ASSERT_EQ(server_.cli({"audit", "keygen", "-o", key, "--name", "example.com/box"}).exit_code, 0);
  server_.stop();
  const std::string capsule = (scratch_.path() / "run.capsule").string();
  const Output exported = server_.cli(
      {"run", "export", run_id, "--artifacts", "--signing-key", key, "-o", capsule, "--json"});
  ASSERT_EQ(exported.exit_code, 0) << exported.out << exported.err;
  const json::object result = one_object(exported).at("result").as_object();
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

constexpr const char* far_pipeline = R"(
name = "leaving"
runs_on = ["gpu"]
[[station]]
name = "work"
executor = "process"
command = ["sh", "-c", "printf hello > $SIGNALBOX_ARTIFACTS_DIR/a.txt; seq 1 90000 > $SIGNALBOX_ARTIFACTS_DIR/b.txt; env | grep -c AWS_ > $SIGNALBOX_ARTIFACTS_DIR/c.txt; true"]
)";

TEST_F(ArtifactStoreScenario, ThoseOfARunnerGoStraightIntoTheStore) {  // N4
  RunnerProcess runner(scratch_.path() / "one", {"--data", server_.data().string()},
                       {"--name", "one", "--labels", "gpu"});
  runner.start();
  const std::string run_id = start_run_of(far_pipeline, "leave files");
  await_status(run_id, "succeeded");
  expect_all_stored(run_id, 6);
  EXPECT_EQ(artifact(run_id, "a.txt").out, "hello");
  EXPECT_EQ(endpoint_.requests("PUT"), 1) << "one object an attempt";
  EXPECT_EQ(endpoint_.url_requests(), 1);
  EXPECT_EQ(endpoint_.objects().size(), 1U);
  HttpClient client(server_.socket());
  const std::string path = "/v1/runs/" + run_id + "/artifacts/";
  EXPECT_EQ(client.get(path + "b.txt").body(), large());
  const HttpReply part = client.get(path + "b.txt", {{"Range", "bytes=2-5"}});
  EXPECT_EQ(part.status, 206U);
  EXPECT_EQ(part.body(), large().substr(2, 4));
  const std::string bundle = client.get(path + "attempt.tar").body();
  EXPECT_NE(bundle.find(large()), std::string::npos);
  EXPECT_EQ(runner.log().find("go through the service"), std::string::npos) << runner.log();
  for (const std::string& shown : {server_.messages(), runner.log()}) {
    EXPECT_EQ(shown.find("X-Amz-Signature"), std::string::npos);
  }
}

TEST_F(ArtifactStoreScenario, ARunnerThatCannotReachTheStoreUploadsThroughTheService) {  // N4
  endpoint_.refuse_urls(403);
  RunnerProcess runner(scratch_.path() / "one", {"--data", server_.data().string()},
                       {"--name", "one", "--labels", "gpu"});
  runner.start();
  for (int each = 0; each < 2; ++each) {
    const std::string run_id = start_run_of(far_pipeline, "leave files");
    await_status(run_id, "succeeded");
    expect_all_stored(run_id, 6);
    EXPECT_EQ(artifact(run_id, "a.txt").out, "hello");
  }
  EXPECT_EQ(endpoint_.url_requests(), 1);
  const std::string log = runner.log();
  const std::size_t told = log.find("artifacts go through the service");
  ASSERT_NE(told, std::string::npos) << log;
  EXPECT_EQ(log.find("artifacts go through the service", told + 1), std::string::npos) << log;
}

// Killed after the content has arrived and before the word that names it.
TEST_F(ArtifactStoreScenario, ARunnerKilledBetweenUploadAndWordTellsItAgain) {  // N4, N5
  endpoint_.fail_next({.method = "PUT", .take_effect = true, .hang = true});
  RunnerProcess runner(scratch_.path() / "one", {"--data", server_.data().string()},
                       {"--name", "one", "--labels", "gpu"});
  runner.start();
  const std::string run_id = start_run_of(far_pipeline, "leave files");
  await([&] { return endpoint_.url_requests() > 0; });
  runner.kill();
  EXPECT_NE(text(run(run_id), "status"), "succeeded");
  runner.start();
  await_status(run_id, "succeeded");
  expect_all_stored(run_id, 6);
  EXPECT_EQ(endpoint_.requests("PUT"), 1) << "what had arrived is found";
}

TEST_F(ArtifactStoreScenario, ThoseOfARunnerAreExportedWithoutAService) {  // N4, R6
  RunnerProcess runner(scratch_.path() / "one", {"--data", server_.data().string()},
                       {"--name", "one", "--labels", "gpu"});
  runner.start();
  const std::string run_id = start_run_of(far_pipeline, "leave files");
  await_status(run_id, "succeeded");
  const std::string key = (scratch_.path() / "audit.key").string();
  ASSERT_EQ(server_.cli({"audit", "keygen", "-o", key, "--name", "example.com/box"}).exit_code, 0);
  runner.kill();
  server_.stop();
  const std::string capsule = (scratch_.path() / "run.capsule").string();
  const Output exported = server_.cli(
      {"run", "export", run_id, "--artifacts", "--signing-key", key, "-o", capsule, "--json"});
  ASSERT_EQ(exported.exit_code, 0) << exported.out << exported.err;
  const json::object result = one_object(exported).at("result").as_object();
  EXPECT_EQ(result.at("artifacts"), 5) << "each member once, and not the bundle as well";
  EXPECT_TRUE(result.at("missing_artifacts").as_array().empty());
}

TEST_F(ArtifactStoreScenario, ABundleStaysUntilNoRunNeedsItsMembers) {  // N4, A15
  server_.stop();
  write_settings("files_older_than = \"1s\"\nfiles_failed_runs = \"1s\"\n");
  std::ofstream(server_.data() / "signalbox.toml", std::ios::app) << artifact_settings();
  server_.start();
  RunnerProcess runner(scratch_.path() / "one", {"--data", server_.data().string()},
                       {"--name", "one", "--labels", "gpu"});
  runner.start();
  std::string two = far_pipeline;  // the second station keeps the run open
  two += "[[station]]\nname = \"plan\"\n";
  const std::string run_id = start_run_of(two.c_str(), "leave files");
  await([&] { return artifact(run_id, "a.txt").out == "hello"; });
  const std::string token = claim(run_id);
  endpoint_.set_time_of_all(SystemClock().wall_ns() - 2 * unnamed_artifact_ms_min * ns_per_ms);
  round();
  EXPECT_EQ(endpoint_.objects().size(), 1U);
  EXPECT_EQ(artifact(run_id, "a.txt").out, "hello");
  EXPECT_EQ(complete(run_id, "plan", token, "succeeded").exit_code, 0);
  await_gone(server_.data() / "runs" / run_id);
  await([&] {
    endpoint_.set_time_of_all(SystemClock().wall_ns() - 2 * unnamed_artifact_ms_min * ns_per_ms);
    round();
    return endpoint_.objects().empty();
  });
  EXPECT_EQ(text(artifact_error(run_id, "a.txt").at("data").as_object(), "code"), "FILES_REMOVED");
}

// Files of a job elsewhere are in the store before the event that names them.
TEST_F(ArtifactStoreScenario, AResultOfARunnerWaitsForItToo) {  // N4, N5
  endpoint_.refuse_all(503);
  RunnerProcess runner(scratch_.path() / "one", {"--data", server_.data().string()},
                       {"--name", "one", "--labels", "gpu"});
  runner.start();
  const std::string run_id = start_run_of(far_pipeline, "leave files");
  await([&] { return runner.log().find("HTTP 503") != std::string::npos; });
  EXPECT_NE(text(run(run_id), "status"), "succeeded");
  runner.kill();
  endpoint_.refuse_all(0);
  runner.start();
  await_status(run_id, "succeeded");
  expect_all_stored(run_id, 6);
  EXPECT_EQ(artifact(run_id, "a.txt").out, "hello");
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

TEST_F(ArtifactStoreScenario, CredentialsAreInNoLogAnswerOrNote) {  // S13
  (void)finished_run();
  endpoint_.refuse_all(403);
  (void)start_run_of(leaving_pipeline, "leave files");
  await([&] { return server_.messages().find("AccessDenied") != std::string::npos; });
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

// In a directory each artifact is a file of its own: no object has a price there.
TEST_F(ArtifactStoreScenario, ThoseOfARunnerAreFilesWhereNothingIsAnObject) {  // N4
  server_.stop();
  write_text(server_.data() / "signalbox.toml", "");
  server_.start();
  RunnerProcess runner(scratch_.path() / "one", {"--data", server_.data().string()},
                       {"--name", "one", "--labels", "gpu"});
  runner.start();
  const std::string run_id = start_run_of(far_pipeline, "leave files");
  await_status(run_id, "succeeded");
  EXPECT_EQ(artifact(run_id, "a.txt").out, "hello");
  EXPECT_EQ(text(artifact_error(run_id, "attempt.tar").at("data").as_object(), "code"),
            "ARTIFACT_NOT_FOUND");
  EXPECT_TRUE(endpoint_.objects().empty());
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
