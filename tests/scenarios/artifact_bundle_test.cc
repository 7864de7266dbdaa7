// Artifacts of runners in a store of objects, with the real binary: straight into it, as one object
// an attempt, and what becomes of that.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "domain/nanoseconds.h"
#include "server/platform/artifact_store.h"
#include "server/platform/clock.h"
#include "tests/scenarios/artifact_store_fixture.h"
#include "tests/scenarios/http_client.h"
#include "tests/scenarios/runner_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

class ArtifactBundleScenario : public ArtifactStoreScenario {
 protected:
  // Has files go a second after their run has ended.
  void remove_files_soon() {
    server_.stop();
    write_settings("files_older_than = \"1s\"\nfiles_failed_runs = \"1s\"\n");
    std::ofstream(server_.data() / "signalbox.toml", std::ios::app) << artifact_settings();
    server_.start();
  }
  // Lets a round find objects so old that they go unless something needs them.
  void age_and_remove() {
    endpoint_.set_time_of_all(SystemClock().wall_ns() - 2 * unnamed_artifact_ms_min * ns_per_ms);
    round();
  }
  void await_empty_store() {
    await([&] {
      age_and_remove();
      return endpoint_.objects().empty();
    });
  }

  const std::string far_pipeline = "runs_on = [\"gpu\"]\n" + std::string(leaving_pipeline);
  RunnerProcess runner_{scratch_.path() / "one",
                        {"--data", server_.data().string()},
                        {"--name", "one", "--labels", "gpu"}};
};

TEST_F(ArtifactBundleScenario, ThoseOfARunnerGoStraightIntoTheStore) {  // N4
  runner_.start();
  const std::string run_id = start_run_of(far_pipeline.c_str(), "leave files");
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
  EXPECT_EQ(runner_.log().find("go through the service"), std::string::npos) << runner_.log();
  for (const std::string& shown : {server_.messages(), runner_.log()}) {
    EXPECT_EQ(shown.find("X-Amz-Signature"), std::string::npos);
  }
}

TEST_F(ArtifactBundleScenario, ARunnerThatCannotReachTheStoreUploadsThroughTheService) {  // N4
  endpoint_.refuse_urls(403);
  runner_.start();
  for (int each = 0; each < 2; ++each) {
    const std::string run_id = start_run_of(far_pipeline.c_str(), "leave files");
    await_status(run_id, "succeeded");
    expect_all_stored(run_id, 6);
    EXPECT_EQ(artifact(run_id, "a.txt").out, "hello");
  }
  EXPECT_EQ(endpoint_.url_requests(), 1);
  const std::string log = runner_.log();
  const std::size_t told = log.find("artifacts go through the service");
  ASSERT_NE(told, std::string::npos) << log;
  EXPECT_EQ(log.find("artifacts go through the service", told + 1), std::string::npos) << log;
}

// Killed after the content has arrived and before the word that names it.
TEST_F(ArtifactBundleScenario, ARunnerKilledBetweenUploadAndWordTellsItAgain) {  // N4, N5
  endpoint_.fail_next({.method = "PUT", .take_effect = true, .hang = true});
  runner_.start();
  const std::string run_id = start_run_of(far_pipeline.c_str(), "leave files");
  await([&] { return endpoint_.url_requests() > 0 && !endpoint_.objects().empty(); });
  runner_.kill();
  EXPECT_NE(text(run(run_id), "status"), "succeeded");
  runner_.start();
  await_status(run_id, "succeeded");
  expect_all_stored(run_id, 6);
  EXPECT_EQ(endpoint_.requests("PUT"), 1) << "what had arrived is found";
}

TEST_F(ArtifactBundleScenario, ThoseOfARunnerAreExportedWithoutAService) {  // N4, R6
  runner_.start();
  const std::string run_id = start_run_of(far_pipeline.c_str(), "leave files");
  await_status(run_id, "succeeded");
  runner_.kill();
  server_.stop();
  const json::object result = exported(run_id);
  EXPECT_EQ(result.at("artifacts"), 5) << "each member once, and not the bundle as well";
  EXPECT_TRUE(result.at("missing_artifacts").as_array().empty());
}

TEST_F(ArtifactBundleScenario, ABundleStaysUntilNoRunNeedsItsMembers) {  // N4, A15
  remove_files_soon();
  runner_.start();
  std::string two = far_pipeline;  // the second station keeps the run open
  two += "[[station]]\nname = \"plan\"\n";
  const std::string run_id = start_run_of(two.c_str(), "leave files");
  await([&] { return artifact(run_id, "a.txt").out == "hello"; });
  const std::string token = claim(run_id);
  age_and_remove();
  EXPECT_EQ(endpoint_.objects().size(), 1U);
  EXPECT_EQ(artifact(run_id, "a.txt").out, "hello");
  EXPECT_EQ(complete(run_id, "plan", token, "succeeded").exit_code, 0);
  await_gone(server_.data() / "runs" / run_id);
  await_empty_store();
  EXPECT_EQ(text(artifact_error(run_id, "a.txt").at("data").as_object(), "code"), "FILES_REMOVED");
}

// Files of a job elsewhere are in the store before the event that names them.
TEST_F(ArtifactBundleScenario, AResultOfARunnerWaitsForItToo) {  // N4, N5
  endpoint_.refuse_all(503);
  runner_.start();
  const std::string run_id = start_run_of(far_pipeline.c_str(), "leave files");
  ASSERT_TRUE(runner_.logs("HTTP 503"));
  EXPECT_NE(text(run(run_id), "status"), "succeeded");
  runner_.kill();
  endpoint_.refuse_all(0);
  runner_.start();
  await_status(run_id, "succeeded");
  expect_all_stored(run_id, 6);
  EXPECT_EQ(artifact(run_id, "a.txt").out, "hello");
}

// In a directory each artifact is a file of its own: no object has a price there.
TEST_F(ArtifactBundleScenario, ThoseOfARunnerAreFilesWhereNothingIsAnObject) {  // N4
  server_.stop();
  write_text(server_.data() / "signalbox.toml", "");
  server_.start();
  runner_.start();
  const std::string run_id = start_run_of(far_pipeline.c_str(), "leave files");
  await_status(run_id, "succeeded");
  EXPECT_EQ(artifact(run_id, "a.txt").out, "hello");
  EXPECT_EQ(text(artifact_error(run_id, "attempt.tar").at("data").as_object(), "code"),
            "ARTIFACT_NOT_FOUND");
  EXPECT_TRUE(endpoint_.objects().empty());
}

// Its text is the same each time, so that the bundle is.
constexpr const char* same_command =
    R"(command = ["sh", "-c", "printf hello > $SIGNALBOX_ARTIFACTS_DIR/a.txt; printf '{\"outcome\":\"succeeded\",\"summary\":\"done\"}' > $SIGNALBOX_ARTIFACTS_DIR/result.json"])";

std::string same_pipeline(const std::string& more) {
  return std::string("name = \"same\"\nruns_on = [\"gpu\"]\n[[station]]\nname = \"work\"\n") +
         "executor = \"process\"\n" + same_command + "\n" + more;
}

TEST_F(ArtifactBundleScenario, ABundleOfTwoRunsStaysUntilNeitherNeedsIt) {  // N4, A15
  remove_files_soon();
  runner_.start();
  const std::string two = same_pipeline("[[station]]\nname = \"plan\"\n");
  const std::string open = start_run_of(two.c_str(), "stays open");
  await([&] { return artifact(open, "a.txt").out == "hello"; });
  const std::string token = claim(open);
  const std::string ended = start_run_of(same_pipeline("").c_str(), "ends");
  await_status(ended, "succeeded");
  EXPECT_EQ(endpoint_.objects().size(), 1U) << "both have left the same";
  EXPECT_EQ(endpoint_.requests("PUT"), 1);
  await_gone(server_.data() / "runs" / ended);
  age_and_remove();
  EXPECT_EQ(artifact(open, "a.txt").out, "hello");
  EXPECT_EQ(complete(open, "plan", token, "succeeded").exit_code, 0);
  await_gone(server_.data() / "runs" / open);
  await_empty_store();
}

// The file is in the bundles of both attempts, and one of them isn't what it was.
TEST_F(ArtifactBundleScenario, ADamagedBundleCostsACapsuleWhatIsNowhereElse) {  // N4, R6
  runner_.start();
  const std::string again =
      "[[station]]\nname = \"again\"\nexecutor = \"process\"\n"
      "command = [\"sh\", \"-c\", \"printf hello > "
      "$SIGNALBOX_ARTIFACTS_DIR/a.txt\"]\n";
  const std::string run_id = start_run_of(same_pipeline(again).c_str(), "leave it twice");
  await_status(run_id, "succeeded");
  const auto objects = endpoint_.objects();
  ASSERT_EQ(objects.size(), 2U);
  for (const auto& [key, object] : objects) {
    if (object.content.find("done") == std::string::npos) continue;
    endpoint_.change(key, std::string(object.content.size(), 'x'));
  }
  const json::object result = exported(run_id);
  EXPECT_TRUE(result.at("missing_artifacts").as_array().empty());
  EXPECT_EQ(result.at("damaged_artifacts").as_array().size(), 1U) << "the summary of `work`";
  EXPECT_EQ(result.at("artifacts"), 3) << "a.txt, the other summary, and the log of both";
  const std::string to = (scratch_.path() / "out").string();
  const Output replayed = run_process(
      {SIGNALBOX_BINARY, "replay", capsule_.string(), "--artifacts-to", to, "--json"}, {});
  ASSERT_EQ(replayed.exit_code, 0) << replayed.out << replayed.err;
  EXPECT_EQ(content_of(fs::path(to) / to_hex(sha256("hello"))), "hello");
  EXPECT_EQ(replayed.out.find("\"bundle\""), std::string::npos) << replayed.out;
  const std::string tar = replayed.out.substr(replayed.out.find("\"attempt.tar\""));
  EXPECT_NE(tar.substr(0, tar.find('}')).find("\"path\":\"\""), std::string::npos) << tar;
}

TEST_F(ArtifactBundleScenario, TheCommandLineSaysWhereInATarAFileIs) {  // N4
  runner_.start();
  const std::string run_id = start_run_of(far_pipeline.c_str(), "leave files");
  await_status(run_id, "succeeded");
  EXPECT_NE(artifact(run_id, "b.txt").out.find(", in it as sha256/" + to_hex(sha256(large()))),
            std::string::npos);
}

}  // namespace
}  // namespace signalbox
