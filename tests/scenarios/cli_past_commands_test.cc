// --at with every command of the program: those that show something of the log answer as of that
// moment, all others refuse it, and nothing has happened.
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/serialize.hpp>

#include "tests/scenarios/past_fixture.h"

namespace signalbox {
namespace {

using Words = std::vector<std::string>;

Words words_of(const std::string& text) {
  std::istringstream stream(text);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// Returns the commands as the manual page has them: "run get RUN".
std::vector<std::string> commands() {
  const Output page = run_process({SIGNALBOX_BINARY, "help", "--man"});
  EXPECT_EQ(page.exit_code, 0) << page.err;
  std::istringstream lines(page.out);
  std::vector<std::string> found;
  const std::string begin = R"(.SS "signalbox )";
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(begin)) continue;
    std::string command;
    for (const char each : line.substr(begin.size(), line.size() - begin.size() - 1)) {
      if (each != '\\') command += each;
    }
    found.push_back(std::move(command));
  }
  EXPECT_GT(found.size(), 80U);
  return found;
}

// Commands that show what is in the log, with what they are given in place of their operands. A
// new one needs a row.
const std::map<std::string, std::string> showing{
    {"run get RUN", "run get last"},
    {"run list", "run list"},
    {"run why RUN", "run why last"},
    {"run trace RUN", "run trace last"},
    {"run artifact RUN NAME", "run artifact last a.txt"},
    {"plan get RUN", "plan get last"},
    {"plan list", "plan list"},
    {"lock get KEY", "lock get deploy"},
    {"lock list", "lock list"},
    {"tick list", "tick list"},
    {"loop list", "loop list"},
    {"project get NAME", "project get web"},
    {"project list", "project list"},
    {"card get CARD", "card get last"},
    {"card list", "card list"},
    {"card why CARD", "card why last"},
    {"board", "board"},
    {"runner list", "runner list"},
    {"runner get RUNNER", "runner get runner:never-0123456789abcdef"},
    {"inbox", "inbox"},
    {"report", "report"},
    {"strategy list", "strategy list"},
    {"events", "events"},
    {"timeline", "timeline"},
    {"access list", "access list"},
    {"status", "status"},
    {"server status", "server status"},
    {"server limits", "server limits"},
    {"server crash-report", "server crash-report"},
    {"rpc METHOD PARAMS", "rpc run.list {}"}};

// Commands that print what is in the program, whatever is asked about.
const std::set<std::string> of_the_program{"version"};

TEST_F(PastCliTest, EachCommandAnswersAboutAMomentOrRefusesIt) {  // P9
  live();
  const std::string position = boost::json::serialize(result({"status"}).at("position"));
  std::set<std::string> seen;
  for (const std::string& command : commands()) {
    if (of_the_program.contains(command)) continue;
    const auto shows = showing.find(command);
    Words words = words_of(shows == showing.end() ? command : shows->second);
    if (shows == showing.end()) {
      for (std::string& word : words) {
        if (word == "RUN") word = "last";
        if (word == "CARD") word = "01a00000-0000-7000-8000-000000000000";  // there is none yet
      }
    } else {
      seen.insert(command);
    }
    words.insert(words.end(), {"--at", moments_.back().position});
    const Output answer = server_.cli(words);
    if (shows == showing.end()) {
      EXPECT_TRUE(answer.exit_code == 2 || answer.exit_code == 77)
          << command << " " << answer.exit_code << " " << answer.out << answer.err;
      EXPECT_EQ(answer.out, "") << command;
    } else {  // there may be none of it, or something waits for a person
      EXPECT_TRUE(answer.exit_code == 0 || answer.exit_code == 1)
          << command << " " << answer.exit_code << " " << answer.err;
    }
  }
  EXPECT_EQ(seen.size(), showing.size());
  EXPECT_EQ(boost::json::serialize(result({"status"}).at("position")), position);
}

// It would have answered about the end of the log.
TEST_F(PastCliTest, WhatReadsALogItselfSaysHowItTakesAMoment) {  // P9, P7
  const Output refused = server_.cli({"replay", "--at", "1"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_EQ(refused.out, "");
  EXPECT_NE(refused.err.find("it takes --to"), std::string::npos) << refused.err;
  EXPECT_EQ(server_
                .cli({"--at", "1", "audit", "keygen", "--name", "a", "--output",
                      (scratch_.path() / "key").string()})
                .exit_code,
            2);
  EXPECT_FALSE(std::filesystem::exists(scratch_.path() / "key"));
}

}  // namespace
}  // namespace signalbox
