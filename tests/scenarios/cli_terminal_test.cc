// What the command line does only on a terminal, and the completion script in a real bash.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "tests/scenarios/cli_fixture.h"

namespace signalbox {
namespace {

// Runs a shell command on a pseudo-terminal, with script(1) of util-linux.
Output on_terminal(const std::string& command, const std::vector<std::string>& environment) {
  return run_process({"script", "--quiet", "--return", "--command", command, "/dev/null"},
                     environment);
}

TEST_F(CliTest, ColoursOnATerminalUnlessNoColor) {
  start_run("colourful");
  const std::string command =
      std::string(SIGNALBOX_BINARY) + " status --data " + server_.data().string();
  const Output coloured = on_terminal(command, {"TERM=xterm", "NO_COLOR="});
  EXPECT_EQ(coloured.exit_code, 0);
  EXPECT_NE(coloured.out.find("\x1b["), std::string::npos) << coloured.out;
  const Output plain = on_terminal(command, {"TERM=xterm", "NO_COLOR=1"});
  EXPECT_NE(plain.out.find("state digest"), std::string::npos) << plain.out;
  EXPECT_EQ(plain.out.find("\x1b["), std::string::npos) << plain.out;
}

TEST_F(CliTest, LongLinesAreCutOnATerminalOnly) {
  const std::string goal(100, 'g');
  start_run(goal);
  EXPECT_NE(server_.cli({"run", "list"}).out.find(goal), std::string::npos);
  const Output cut = on_terminal("stty cols 100; " + std::string(SIGNALBOX_BINARY) +
                                     " run list --data " + server_.data().string(),
                                 {"TERM=xterm", "NO_COLOR=1"});
  EXPECT_EQ(cut.out.find(goal), std::string::npos);
  EXPECT_NE(cut.out.find("ggg…"), std::string::npos) << cut.out;
}

// Returns the output of a command on a terminal of 80 columns, and expects that no line of it is
// wider.
std::string on_80_columns(const std::string& words, const std::filesystem::path& data) {
  const Output shown = on_terminal(
      "stty cols 80; " + std::string(SIGNALBOX_BINARY) + " " + words + " --data " + data.string(),
      {"TERM=xterm", "NO_COLOR=1"});
  EXPECT_EQ(shown.exit_code, 0) << shown.out;
  std::istringstream lines(shown.out);
  for (std::string line; std::getline(lines, line);) {
    while (line.ends_with('\r')) line.pop_back();
    const auto characters =
        std::count_if(line.begin(), line.end(), [](char each) { return (each & 0xC0) != 0x80; });
    EXPECT_LE(characters, 80) << words << ": " << line;
  }
  return shown.out;
}

TEST_F(CliTest, TablesFitIntoEightyColumns) {  // O6
  const std::string run = start_run("a goal that takes more than the thirty columns that are left");
  const std::string other = start_run("short");
  claim(run);
  const std::string list = on_80_columns("run list", server_.data());
  EXPECT_NE(list.find("a goal that takes more t"), std::string::npos) << list;
  EXPECT_NE(list.find(run.substr(run.size() - 8) + " "), std::string::npos) << list;
  EXPECT_EQ(list.find(run), std::string::npos) << list;
  const std::string full = on_terminal("stty cols 80; " + std::string(SIGNALBOX_BINARY) +
                                           " run list --full --data " + server_.data().string(),
                                       {"TERM=xterm", "NO_COLOR=1"})
                               .out;
  EXPECT_NE(full.find(run), std::string::npos) << full;
  EXPECT_NE(full.find("columns that are left"), std::string::npos) << full;
  EXPECT_NE(server_.cli({"run", "list"}).out.find(other), std::string::npos) << "a pipe gets all";
  on_80_columns("events", server_.data());
  on_80_columns("loop list", server_.data());
  on_80_columns("tick list", server_.data());
  on_80_columns("server limits", server_.data());
  on_80_columns("access list", server_.data());
  EXPECT_EQ(server_
                .cli({"lock", "acquire", "deploy", "--owner", std::string(40, 'o'), "--reason",
                      std::string(60, 'r')})
                .exit_code,
            0);
  on_80_columns("lock list", server_.data());
}

// Returns the words that bash offers after `line`, one per line.
std::string offered(const std::string& line) {
  const std::string script = "source <('" SIGNALBOX_BINARY
                             "' completion bash)\n"
                             "COMP_WORDS=(" +
                             line +
                             ")\n"
                             "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
                             "_signalbox\n"
                             "printf '%s\\n' \"${COMPREPLY[@]}\"\n";
  const Output output = run_process({"bash", "--norc", "-c", script});
  EXPECT_EQ(output.err, "");
  return "\n" + output.out;
}

TEST(Completion, OffersNounsVerbsOptionsAndValues) {
  EXPECT_NE(offered("signalbox ''").find("\nrun\n"), std::string::npos);
  EXPECT_EQ(offered("signalbox ru"), "\nrun\n");
  EXPECT_NE(offered("signalbox run ''").find("\nwatch\n"), std::string::npos);
  EXPECT_EQ(offered("signalbox run ''").find("\nclaim\n"), std::string::npos);
  EXPECT_NE(offered("signalbox run list --").find("\n--project\n"), std::string::npos);
  EXPECT_NE(offered("signalbox run list --").find("\n--json\n"), std::string::npos);
  EXPECT_EQ(offered("signalbox run list --status f"), "\nfailed\n");
  EXPECT_EQ(offered("signalbox --json station c"), "\nclaim\ncomplete\n");
}

}  // namespace
}  // namespace signalbox
