// `signalbox inbox`: what waits for a person, with commands that are taken as they are shown.
#include <algorithm>
#include <map>
#include <sstream>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "tests/scenarios/lock_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr const char* asking_pipeline = R"(
name = "asking"
[[station]]
name = "ship"
executor = "approval"
)";

class InboxTest : public CliTest {
 protected:
  [[nodiscard]] json::array items() const {
    const Output output = server_.cli({"inbox", "--json"});
    return one_object(output).at("result").as_object().at("items").as_array();
  }
};

TEST_F(InboxTest, ItSaysWhetherSomethingWaits) {  // O1
  const Output nothing = server_.cli({"inbox"});
  EXPECT_EQ(nothing.exit_code, 0) << nothing.err;
  EXPECT_EQ(nothing.out, "Nothing waits for you.\n");

  start_run_of(asking_pipeline, "ship it");
  const Output waiting = server_.cli({"inbox"});
  EXPECT_EQ(waiting.exit_code, 1) << waiting.err;
  EXPECT_NE(waiting.out.find("ship it"), std::string::npos) << waiting.out;
  EXPECT_NE(waiting.out.find("station ship waits for a decision"), std::string::npos)
      << waiting.out;
  EXPECT_EQ(server_.cli({"inbox", "--kind", "halted_loop"}).exit_code, 0);
  EXPECT_EQ(server_.cli({"inbox", "--kind", "approval"}).exit_code, 1);
  const Output mistyped = server_.cli({"inbox", "--kind", "aproval"});
  EXPECT_EQ(mistyped.exit_code, 2);
  EXPECT_NE(mistyped.err.find("--kind takes no `aproval`; did you mean approval?"),
            std::string::npos)
      << mistyped.err;
}

// Every first command of the list ends the wait, or explains it, as it is shown.
TEST_F(InboxTest, TheCommandsThatItShowsAreTaken) {  // O1
  start_run_of(asking_pipeline, "ship it");
  const std::string paused = start_run("a parser");
  ASSERT_EQ(server_.cli({"run", "pause", paused, "--reason", "lunch"}).exit_code, 0);
  const json::array waiting = items();
  ASSERT_EQ(waiting.size(), 2U);
  for (const json::value& item : waiting) {
    const std::string command(item.at("next_commands").as_array().front().as_string());
    const Output taken = paste(command);
    EXPECT_EQ(taken.exit_code, 0) << command << "\n" << taken.err;
  }
  EXPECT_TRUE(items().empty());
}

TEST_F(InboxTest, ACommandGetsEachNewItemOnce) {  // O1
  const std::string file = (scratch_.path() / "items").string();
  start_run_of(asking_pipeline, "first");
  const BackgroundCommand following({SIGNALBOX_BINARY, "inbox", "--follow", "--exec",
                                     "cat >>'" + file + "'", "--data", server_.data().string()},
                                    scratch_.path() / "follow");
  const auto has = [&](const std::string& goal) {
    return content_of(file).find("\"" + goal + "\"") != std::string::npos;
  };
  EXPECT_TRUE(eventually([&] { return has("first"); })) << following.err();
  start_run_of(asking_pipeline, "second");
  EXPECT_TRUE(eventually([&] { return has("second"); })) << following.err();
  const std::string seen = content_of(file);
  EXPECT_EQ(seen.find("\"first\""), seen.rfind("\"first\"")) << seen;
}

// Each broadcast comes once, and only the last one before the end may come again.
TEST_F(InboxTest, AfterARestartBroadcastsGoOnWhereTheyWere) {  // O5
  const std::string run_id = start_run("a parser");
  const BackgroundCommand following(
      {SIGNALBOX_BINARY, "events", "--follow", "--from", "1", "--type", "attention.changed",
       "--json", "--data", server_.data().string()},
      scratch_.path() / "follow");
  const auto change = [&](const std::string& verb) {
    std::vector<std::string> words = {"run", verb, run_id};
    if (verb == "pause") words.insert(words.end(), {"--reason", "lunch"});
    EXPECT_EQ(server_.cli(words).exit_code, 0);
    const json::array changes = events(run_id, verb == "pause" ? "RunPaused" : "RunResumed");
    const std::string last = json::serialize(changes.back().at("position"));
    EXPECT_TRUE(eventually([&] {
      return following.out().find("\"position\":" + last + ",") != std::string::npos;
    })) << following.err();
  };
  change("pause");
  change("resume");
  change("pause");
  server_.kill();
  server_.start();
  change("resume");
  std::map<std::int64_t, int> times;
  std::istringstream lines(following.out());
  for (std::string line; std::getline(lines, line);) {
    ++times[json::parse(line).at("position").to_number<std::int64_t>()];
  }
  EXPECT_EQ(times.begin()->second, 1) << following.out();
  EXPECT_LE(
      std::count_if(times.begin(), times.end(), [](const auto& each) { return each.second > 1; }),
      1)
      << following.out();
}

}  // namespace
}  // namespace signalbox
