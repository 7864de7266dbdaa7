// A service that keeps its artifacts in a store of objects, for tests with the real binary.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "store/sha256.h"
#include "tests/fixtures/s3_endpoint.h"
#include "tests/scenarios/file_retention_fixture.h"

namespace signalbox {

inline constexpr const char* leaving_pipeline = R"(
name = "leaving"
[[station]]
name = "work"
executor = "process"
command = ["sh", "-c", "printf hello > $SIGNALBOX_ARTIFACTS_DIR/a.txt; seq 1 90000 > $SIGNALBOX_ARTIFACTS_DIR/b.txt; env | grep -c AWS_ > $SIGNALBOX_ARTIFACTS_DIR/c.txt; true"]
)";

class ArtifactStoreScenario : public WithFileRetention<CliTest> {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(server_.data());
    const std::filesystem::path credentials = server_.data() / "store-credentials";
    write_text(credentials, std::string("[default]\naws_access_key_id = ") +
                                test::S3Endpoint::key_id +
                                "\naws_secret_access_key = " + test::S3Endpoint::secret + "\n");
    std::filesystem::permissions(credentials, std::filesystem::perms(0600));
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
  [[nodiscard]] boost::json::object artifact_error(const std::string& run_id,
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
    const boost::json::object shown = run(run_id);
    for (const boost::json::value& station : shown.at("stations").as_array()) {
      for (const boost::json::value& attempt : station.at("attempts").as_array()) {
        for (const boost::json::value& each : attempt.at("artifacts").as_array()) {
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

  // Exports the run with its artifacts to `capsule_`. Returns the result.
  [[nodiscard]] boost::json::object exported(const std::string& run_id) const {
    const std::string key = (scratch_.path() / "audit.key").string();
    const Output made = server_.cli({"audit", "keygen", "-o", key, "--name", "example.com/box"});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    const Output output = server_.cli({"run", "export", run_id, "--artifacts", "--signing-key", key,
                                       "-o", capsule_.string(), "--json"});
    EXPECT_EQ(output.exit_code, 0) << output.out << output.err;
    return one_object(output).at("result").as_object();
  }

  const std::filesystem::path capsule_ = scratch_.path() / "run.capsule";
  test::S3Endpoint endpoint_;
};

}  // namespace signalbox
