// What `audit redact` advises to do with the files that still have an erased text.
#include "tests/scenarios/audit_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

const std::string secret = "q7Zt0vXw4LbR9sKyJ2mNfHcPdGaE8uT5iQo1xWz6";

class RedactionAdviceTest : public AuditTest {};

// To remove the files of a job under way would break it, and a run that a retention has dropped
// can't be rebuilt.
TEST_F(RedactionAdviceTest, IsOfEachFileWhatWorks) {  // G17
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
  const std::string id = start_run("print " + secret);
  await([&] { return fs::exists(at("begun")); });
  const fs::path dropped = server_.data() / "runs" / "0190a0a0-0000-7000-8000-000000000001";
  fs::create_directories(dropped);
  write_text(dropped / "goal.md", secret + "\n");
  const std::string position = json::serialize(events(id, "RunStarted").front().at("position"));
  const json::object report =
      result({"audit", "redact", position, "--reason", "a key in the goal"});
  std::ofstream(at("go")).put('\n');
  await_status(id, "succeeded");
  std::size_t in_progress = 0;
  bool has_dropped = false;
  for (const json::value& each : report.at("remaining").as_array()) {
    const json::object& place = each.as_object();
    if (!place.contains("file")) continue;
    const std::string file = text(place, "file");
    const std::string commands = json::serialize(place.at("commands"));
    if (file.find(id) != std::string::npos) {
      ++in_progress;
      EXPECT_EQ(commands, "[]") << file;
      EXPECT_NE(text(place, "stays").find("job " + id + "-print-1 is in progress"),
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
