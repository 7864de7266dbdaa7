// How tools/quickstart offers the console: to who sits at a terminal, and nobody else. And its
// help.
#include <regex>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/scenarios/cli_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class QuickstartTest : public CliTest {
 protected:
  // Writes a script that offers the console in front of the fixture's server.
  void write_script(const std::string& commands) const {
    write_text((scratch_.path() / "script.sh").string(),
               "set -eu\nsignalbox='" + std::string(SIGNALBOX_BINARY) +
                   "'\nexport SIGNALBOX_DATA='" + server_.data().string() +
                   "'\nsay() { echo \"$*\"; }\n. '" + std::string(SIGNALBOX_SOURCE_DIR) +
                   "/tools/quickstart_console'\ntrap end_console EXIT\n" + commands +
                   "\necho at its end\n");
  }

  // Runs the script on a terminal without a desktop. `typing` has shell commands whose output is
  // typed, and which can wait with `shown TEXT` for what the terminal shows.
  [[nodiscard]] Output at_terminal(const std::string& typing) const {
    const std::string shown =
        "shown() { tries=0; until grep -qF -- \"$1\" shown.txt 2>/dev/null; do "
        "tries=$((tries + 1)); [ $tries -lt 1200 ] || return 1; sleep 0.05; done; }; ";
    const Output run =
        shell("{ " + shown + typing +
                  "; } | script --quiet --flush --return --command 'exec sh script.sh' "
                  "shown.txt >/dev/null",
              {"DISPLAY=", "WAYLAND_DISPLAY=", "TERM=xterm", "NO_COLOR=1"});
    return {run.exit_code, content_of(scratch_.path() / "shown.txt"), run.err};
  }

  // Returns how many access tokens there were, if all of them are revoked.
  [[nodiscard]] std::size_t revoked_tokens() const {
    const json::array tokens = result({"access", "list"}).at("tokens").as_array();
    for (const json::value& each : tokens) EXPECT_EQ(each.at("status"), "revoked");
    return tokens.size();
  }
};

TEST_F(QuickstartTest, OffersTheConsoleAtItsEnd) {
  write_script("show_console");
  const Output run = at_terminal(
      "shown '[Y/n]'; echo; shown 'until this command ends'; printf '\\003'; shown 'at its end'");
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_NE(run.out.find("http://127.0.0.1:"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("/console/#t="), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("at its end"), std::string::npos) << "^C ends the console alone";
  EXPECT_EQ(revoked_tokens(), 1U);
}

TEST_F(QuickstartTest, ShowsTheConsoleBesideTheBoard) {
  write_script("open_console\necho cards\n\"$signalbox\" board >/dev/null\nkeep_console");
  const Output run = at_terminal(
      "shown '[Y/n]'; echo y; shown '/console/#t='; shown 'Press Enter'; echo; "
      "shown 'stay until'; printf '\\003'; shown 'at its end'");
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  const std::size_t address = run.out.find("/console/#t=");
  const std::size_t cards = run.out.find("cards\r\n");
  ASSERT_NE(address, std::string::npos) << run.out;
  ASSERT_NE(cards, std::string::npos) << run.out;
  EXPECT_LT(address, cards) << run.out;
  EXPECT_NE(run.out.find("at its end"), std::string::npos) << run.out;
  EXPECT_EQ(revoked_tokens(), 1U);
}

TEST_F(QuickstartTest, OpensNoConsoleForOneWhoDeclines) {
  write_script("show_console\nopen_console\nkeep_console");
  const Output run = at_terminal("shown 'stay until'; echo n; shown 'watch the board'; echo No");
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_NE(run.out.find("at its end"), std::string::npos) << run.out;
  EXPECT_EQ(run.out.find("http://"), std::string::npos) << run.out;
}

TEST_F(QuickstartTest, AsksNobodyWithoutATerminal) {
  write_script("show_console\nopen_console\nkeep_console");
  const Output run = shell("sh script.sh");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, "at its end\n");
}

// The help is the head of the script, whose end a line number says.
TEST(QuickstartHelp, IsWholeAndNamesEveryOption) {
  const std::string path = std::string(SIGNALBOX_SOURCE_DIR) + "/tools/quickstart";
  const Output help = run_process({"sh", path, "--help"});
  EXPECT_EQ(help.exit_code, 0) << help.err;
  std::istringstream lines(content_of(path));
  std::string line;
  std::getline(lines, line);  // #!/bin/sh
  std::string head;
  while (std::getline(lines, line) && line.starts_with("#")) {
    head += (line.size() > 1 ? line.substr(2) : "") + "\n";
  }
  EXPECT_EQ(help.out, head);
  const std::regex option("^    (--[a-z]+)\\) .*");
  std::size_t options = 0;
  for (std::smatch found; std::getline(lines, line);) {
    if (!std::regex_match(line, found, option)) continue;
    ++options;
    EXPECT_NE(head.find(found[1].str()), std::string::npos) << found[1];
  }
  EXPECT_GE(options, 7U);
}

}  // namespace
}  // namespace signalbox
