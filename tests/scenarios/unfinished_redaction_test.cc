// A redaction whose files can't be finished says so until they are, and a repetition finishes them.
// All with the real binary.
#include "tests/scenarios/described_call.h"
#include "tests/scenarios/served_retention_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

class UnfinishedRedactionTest : public ServedRetentionTest {
 protected:
  // Random characters, so that compression doesn't hide it.
  static constexpr const char* text_to_erase = "b6Kd9sVbQ1xT7mZr5NcYh2LfJg8PaEu6oRiB4tUw";

  [[nodiscard]] bool log_has_text() const {
    for (const auto& each : fs::directory_iterator(server_.data() / "log")) {
      if (content_of(each.path()).find(text_to_erase) != std::string::npos) return true;
    }
    return false;
  }
  // Returns the conditions of the service that wait for a person.
  [[nodiscard]] std::string conditions() const {
    return json::serialize(rpc("attention.list", {{"kinds", json::array{"service"}}}).at("items"));
  }
};

TEST_F(UnfinishedRedactionTest, IsShownUntilARepetitionFinishesIt) {  // G17
  const std::string run_id = start_run(std::string("use the key ") + text_to_erase);
  const std::string position =
      std::to_string(number(events(run_id, "RunStarted").front().as_object(), "position"));
  // The progress of run roots can't be saved then.
  const fs::path progress = server_.data() / "projections" / "run_roots.json";
  fs::remove(progress);
  fs::create_directory(progress);
  const std::vector<std::string> redact{"audit", "redact", position, "--reason", "a key in it"};
  const Output first = server_.cli(redact);
  EXPECT_EQ(first.exit_code, 74) << first.out << first.err;
  EXPECT_NE(first.out.find("Files may have it until"), std::string::npos) << first.out;
  EXPECT_TRUE(log_has_text());
  const Output again = server_.cli(redact);
  EXPECT_EQ(again.exit_code, 74) << again.out << again.err;
  EXPECT_NE(again.out.find("Files may have it until"), std::string::npos) << again.out;
  EXPECT_NE(conditions().find("files may have a text that was redacted"), std::string::npos);
  EXPECT_NE(conditions().find("signalbox audit redact " + position), std::string::npos);
  const json::object status = rpc("server.status");
  EXPECT_TRUE(status.contains("redaction"));
  openrpc::expect_described("server.status", {{"result", status}});
  EXPECT_NE(server_.cli({"status"}).out.find("files may have a redacted text"), std::string::npos);

  fs::remove(progress);
  const Output finished = server_.cli(redact);
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_NE(finished.out.find("nothing is left to erase"), std::string::npos) << finished.out;
  EXPECT_FALSE(log_has_text());
  EXPECT_EQ(conditions(), "[]");
  EXPECT_FALSE(rpc("server.status").contains("redaction"));
}

}  // namespace
}  // namespace signalbox
