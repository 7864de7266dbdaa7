// `signalbox timeline` on terminals that are narrower than its names.
#include "tests/scenarios/cli_fixture.h"
#include "tests/scenarios/on_terminal.h"

namespace signalbox {
namespace {

// Returns the line of the output that begins with the text.
std::string line_from(const std::string& output, const std::string& beginning) {
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(beginning)) return line;
  }
  return {};
}

// All of it happened in the last column of the scale, which a cut would take first.
TEST_F(CliTest, LongNamesLeaveTheNewestPartOfATimeline) {  // O5, O6
  const std::string key = "repo/acme/website-staging-us-east-1";
  const std::string project = "a-project-with-a-name-of-39-characters-";
  const std::string worker = "agent@build-host-01.example.org:40123";
  result({"lock", "acquire", key, "--owner", worker});
  const std::string run = start_run_of(
      "name = \"a_pipeline_with_a_name_of_fifty_characters_or_more\"\n"
      "[[station]]\nname = \"plan\"\n",
      std::string(60, 'g'), {"--project", project});
  rpc("station.claim", {{"worker", worker}, {"run_id", run}});
  for (const std::size_t columns : {std::size_t{80}, std::size_t{60}}) {
    for (const auto& [group, name] :
         std::vector<std::pair<std::string, std::string>>{{"run", run.substr(run.size() - 8)},
                                                          {"project", "a-project"},
                                                          {"pipeline", "a_pipel"},
                                                          {"worker", "agent@"},
                                                          {"lock", "repo/ac"}}) {
      const std::string drawn =
          on_columns(columns, "timeline --from 1h --group " + group, server_.data());
      EXPECT_NE(line_from(drawn, name).find("▓"), std::string::npos) << group << "\n" << drawn;
      EXPECT_NE(line_from(drawn, "events").find("█"), std::string::npos) << group << "\n" << drawn;
      EXPECT_NE(line_from(drawn, "marks").find("●"), std::string::npos) << group << "\n" << drawn;
      EXPECT_EQ(line_from(drawn, "events").find("…"), std::string::npos) << drawn;
    }
  }
  const std::string locks = server_.cli({"timeline", "--group", "lock"}).out;
  EXPECT_NE(locks.find(key), std::string::npos) << "a pipe gets all";
}

}  // namespace
}  // namespace signalbox
