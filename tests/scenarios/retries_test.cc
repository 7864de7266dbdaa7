// How often the real binary tries a command that fails, and what it says when no attempt follows.
#include "tests/scenarios/cli_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class RetriesTest : public CliTest {
 protected:
  // Blocks until a run of a station that always fails has ended. Returns why it wasn't tried again.
  json::object end_of(const std::string& retry, const std::vector<std::string>& more = {}) const {
    const std::string id = start_run_of(
        "name = \"failing\"\n[[station]]\nname = \"work\"\nexecutor = \"process\"\n"
        "command = [\"sh\", \"-c\", \"exit 3\"]\n[station.retry]\nbackoff = \"1ms\"\n" +
            retry,
        "fail", more);
    await_status(id, "failed");
    const json::object answer = result({"run", "why", id});
    const json::object reason = answer.at("reasons").at(0).as_object();
    EXPECT_EQ(text(run(id), "not_retried"), text(reason, "not_retried"));
    const std::string shown = server_.cli({"run", "why", id}).out;
    EXPECT_NE(shown.find("no retry        " + text(reason, "not_retried")), std::string::npos)
        << shown;
    return reason;
  }
};

TEST_F(RetriesTest, AreThoseThatTheStationNames) {  // A13
  const json::object reason = end_of("max_retries = 3\n");
  EXPECT_EQ(reason.at("attempt"), 4);
  EXPECT_EQ(text(reason, "not_retried"), "4 attempts have failed, and max_retries is 3");
}

TEST_F(RetriesTest, AreThoseThatTheRunNames) {  // A13
  const json::object reason = end_of("", {"--max-retries", "1"});
  EXPECT_EQ(reason.at("attempt"), 2);
  EXPECT_EQ(text(reason, "not_retried"), "2 attempts have failed, and max_retries is 1");
}

TEST_F(RetriesTest, AreNoneOfATerminalFailureUnlessSomebodyAskedForThem) {  // A13
  const json::object reason = end_of("");
  EXPECT_EQ(reason.at("attempt"), 1);
  EXPECT_NE(text(reason, "not_retried").find("the station names no max_retries"),
            std::string::npos);
}

}  // namespace
}  // namespace signalbox
