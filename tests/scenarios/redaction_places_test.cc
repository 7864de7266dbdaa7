// What else holds a text that was redacted, and what to do about each of these files.
#include <filesystem>
#include <fstream>

#include "tests/scenarios/redaction_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

TEST_F(RedactionTest, SaysWhereElseItIs) {
  std::ofstream(pipeline()) << R"(
name = "prints"
[[station]]
name = "print"
executor = "process"
command = ["sh", "-c", "echo )"
                            << secret << R"( > \"$SIGNALBOX_ARTIFACTS_DIR/kept.txt\""]
)";
  run_id_ = start_run("print " + secret);
  await_status(run_id_, "succeeded");
  position_ = json::serialize(events(run_id_, "RunStarted").front().at("position"));
  start_run("again with " + secret);
  stop();
  const json::object report = result(redact_words());
  std::string places = json::serialize(report.at("remaining"));
  EXPECT_NE(places.find("artifacts/sha256"), std::string::npos) << places;
  EXPECT_NE(places.find("signalbox audit redact"), std::string::npos) << places;
  for (const fs::path& file : files_with_secret(server_.data())) {
    EXPECT_TRUE(places.find(file.filename().string()) != std::string::npos ||
                file.parent_path().filename() == "log")
        << file;
  }
  // The commands work when pasted. Records that hold the secret in their pipeline stay.
  for (const json::value& place : report.at("remaining").as_array()) {
    for (const json::value& command : place.at("commands").as_array()) {
      const std::string words(command.as_string());
      if (!words.starts_with("rm ")) continue;
      EXPECT_EQ(run_process({"sh", "-c", words}, {}).exit_code, 0) << words;
    }
  }
}

// To remove the files of a job under way would break it, and a run that a retention has dropped
// can't be rebuilt.
TEST_F(RedactionTest, AdvisesOfEachFileWhatWorks) {  // G17
  std::ofstream(pipeline()) << R"(
name = "prints"
[[station]]
name = "print"
executor = "process"
command = ["sh", "-c", "echo )"
                            << secret
                            << R"( > \"$SIGNALBOX_ARTIFACTS_DIR/kept.txt\"; echo begun > )"
                            << at("begun") << "; while [ ! -e " << at("go")
                            << R"( ]; do sleep 0.02; done"]
)";
  run_id_ = start_run("print " + secret);
  await([&] { return fs::exists(at("begun")); });
  const fs::path dropped = server_.data() / "runs" / "0190a0a0-0000-7000-8000-000000000001";
  fs::create_directories(dropped);
  write_text(dropped / "goal.md", secret + "\n");
  position_ = json::serialize(events(run_id_, "RunStarted").front().at("position"));
  const json::object report = result(redact_words());
  std::ofstream(at("go")).put('\n');
  await_status(run_id_, "succeeded");
  std::size_t in_progress = 0;
  bool has_dropped = false;
  for (const json::value& each : report.at("remaining").as_array()) {
    const json::object& place = each.as_object();
    if (!place.contains("file")) continue;
    const std::string file = text(place, "file");
    const std::string commands = json::serialize(place.at("commands"));
    if (file.find(run_id_) != std::string::npos) {
      ++in_progress;
      EXPECT_EQ(commands, "[]") << file;
      EXPECT_NE(text(place, "stays").find("job " + run_id_ + "-print-1 is in progress"),
                std::string::npos)
          << json::serialize(place);
    }
    if (file != dropped / "goal.md") continue;
    has_dropped = true;
    EXPECT_NE(commands.find("rm -- "), std::string::npos) << commands;
    EXPECT_EQ(commands.find("artifacts rebuild"), std::string::npos) << commands;
  }
  EXPECT_GT(in_progress, 0U) << json::serialize(report);
  EXPECT_TRUE(has_dropped) << json::serialize(report);
}

}  // namespace
}  // namespace signalbox
