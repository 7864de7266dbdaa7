// A station that times out leaves its files, with the real binary; the log restores them with the
// same bytes.
#include <filesystem>

#include "tests/scenarios/cli_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr const char* slow_pipeline = R"(
name = "slow"
[[station]]
name = "implement"
executor = "process"
command = ["sh", "-c", "exec sleep 60"]
timeout = "1s"
cancel_grace = "1s"
[station.retry]
max_retries = 0
)";

std::map<std::string, std::string> contents_below(const fs::path& root) {
  std::map<std::string, std::string> files;
  for (const auto& each : fs::recursive_directory_iterator(root)) {
    if (each.is_regular_file()) {
      files[fs::relative(each.path(), root).string()] = content_of(each.path());
    }
  }
  return files;
}

TEST_F(CliTest, AStationThatTimesOutLeavesItsCheckpoint) {  // W3, T7
  const std::string run = start_run_of(slow_pipeline, "take long");
  EXPECT_EQ(server_.cli({"run", "watch", run}).exit_code, 1);
  EXPECT_NE(text(rpc("server.metrics"), "text")
                .find("signalbox_attempt_failures_total{error_class=\"transient\"} 1\n"),
            std::string::npos);
  const fs::path root = server_.data() / "runs" / run;
  // The manifest gets the run's end last, after the checkpoint.
  while (content_of(root / "manifest.json").find("\"status\":\"failed\"") == std::string::npos) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }

  const auto checkpoint =
      json::parse(content_of(root / "logs" / "timeout-checkpoint.json")).as_object();
  EXPECT_EQ(text(checkpoint, "schema_version"), "timeout_checkpoint.v1");
  EXPECT_TRUE(text(checkpoint, "created_at").ends_with("Z"));
  EXPECT_TRUE(text(checkpoint, "timer_origin").ends_with("Z"));
  EXPECT_EQ(text(checkpoint, "stage"), "implement");
  EXPECT_EQ(text(checkpoint, "timer_origin_field"), "stage.started_at");
  EXPECT_GE(checkpoint.at("elapsed_s").to_number<double>(), 1.0);
  EXPECT_EQ(checkpoint.at("timeout_s").to_number<double>(), 1.0);
  EXPECT_TRUE(fs::exists(text(checkpoint, "manifest_path")));
  EXPECT_TRUE(fs::exists(text(checkpoint, "checkpoint_md_path")));
  const auto first = checkpoint.at("next_commands").as_array().front().as_string();
  EXPECT_EQ(std::string(first), "signalbox run get " + run);
  EXPECT_EQ(server_.cli({"run", "get", run}).exit_code, 0);

  const auto before = contents_below(root);
  EXPECT_GE(before.size(), 6U);
  for (const auto& each : fs::directory_iterator(root)) fs::remove_all(each.path());
  const auto rebuilt = result({"artifacts", "rebuild", run});
  EXPECT_EQ(rebuilt.at("files").as_array().size(), before.size());
  EXPECT_EQ(contents_below(root), before);
  const auto listed = result({"artifacts", "list", run});
  for (const json::value& each : listed.at("files").as_array()) {
    EXPECT_EQ(text(each.as_object(), "found"), "same");
  }
  EXPECT_EQ(server_.cli({"artifacts", "rebuild", "00000000-0000-0000-0000-000000000000"}).exit_code,
            1);
}

TEST_F(CliTest, ARunOfOutsideWorkersAloneHasNoFilesUnlessTheyAreAskedFor) {
  const std::string run = start_run("nothing to see");
  ASSERT_EQ(complete(run, "plan", claim(run), "succeeded").exit_code, 0);
  const fs::path root = server_.data() / "runs" / run;
  EXPECT_FALSE(fs::exists(root));
  EXPECT_FALSE(result({"artifacts", "rebuild", run}).at("files").as_array().empty());
  EXPECT_TRUE(fs::exists(root / "manifest.json"));
  EXPECT_TRUE(fs::exists(root / "outputs" / "plan-1.json"));
}

}  // namespace
}  // namespace signalbox
