// Commands that are shown to be pasted go to the service that was asked: with the options that were
// typed, and without any where none was typed.
#include <sstream>

#include "tests/scenarios/cli_fixture.h"

namespace signalbox {
namespace {

class PastedConnectionTest : public CliTest {
 protected:
  // Runs a command with these options, where the environment names a data directory without a
  // service.
  [[nodiscard]] Output elsewhere(std::vector<std::string> words,
                                 const std::vector<std::string>& options) const {
    words.insert(words.begin(), SIGNALBOX_BINARY);
    words.insert(words.end(), options.begin(), options.end());
    return run_process(std::move(words), environment());
  }
  [[nodiscard]] std::vector<std::string> environment() const {
    const std::string path = std::filesystem::path(SIGNALBOX_BINARY).parent_path().string();
    return {"PATH=" + path + ":" + std::getenv("PATH"),
            "SIGNALBOX_DATA=" + (scratch_.path() / "none").string(),
            "SIGNALBOX_SOCKET=", "SIGNALBOX_SERVER="};
  }
  // Returns the commands of Signalbox in the output, each to the end of its line or to the comment
  // behind it.
  static std::vector<std::string> commands_in(const std::string& output) {
    std::vector<std::string> commands;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t begin = line.find("signalbox ");
      if (begin == std::string::npos || line.starts_with("signalbox: ")) continue;
      commands.push_back(line.substr(begin, line.find("   # ") - begin));
    }
    return commands;
  }
  // Expects that each command in the output names the options, and that pasted it is about the same
  // service. Returns how many there are.
  std::size_t paste_all(const Output& shown, const std::string& options) const {
    const std::vector<std::string> commands = commands_in(shown.out + shown.err);
    for (const std::string& command : commands) {
      EXPECT_TRUE(command.starts_with("signalbox " + options + " ")) << command;
      const Output pasted = run_process({"sh", "-c", command}, environment());
      EXPECT_NE(pasted.exit_code, 69) << command << pasted.err;
    }
    return commands.size();
  }
};

TEST_F(PastedConnectionTest, ACommandThatIsShownGoesToTheSameService) {  // O2, O6
  const std::string run = start_run_of(
      "name = \"p\"\n[[station]]\nname = \"a\"\nexecutor = \"process\"\n"
      "command = [\"sh\", \"-c\", \"echo oops >&2; exit 3\"]\nretry = { max_retries = 0 }\n",
      "g");
  await_status(run, "failed");
  const std::vector<std::vector<std::string>> both = {{"--data", server_.data().string()},
                                                      {"--socket", server_.socket().string()}};
  for (const auto& options : both) {
    const std::string typed = options[0] + " " + options[1];
    EXPECT_GE(paste_all(elsewhere({"run", "get", "ffffffff"}, options), typed), 1U);
    EXPECT_GE(paste_all(elsewhere({"inbox"}, options), typed), 2U);
    await_status(run, "failed");  // a pasted command has retried it
    EXPECT_GE(paste_all(elsewhere({"report"}, options), typed), 1U);
    EXPECT_GE(paste_all(elsewhere({"run", "why", run}, options), typed), 2U);
    await_status(run, "failed");  // a pasted command has retried it
    EXPECT_GE(paste_all(elsewhere({"pause", "--all"}, options), typed), 1U);
    EXPECT_GE(paste_all(elsewhere({"drain"}, options), typed), 0U);
    result({"resume", "--all"});
  }
}

TEST_F(PastedConnectionTest, WhatWasntTypedIsntShown) {  // O6
  start_run("g");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"run", "get", "ffffffff"}, {"run", "why", "last"}, {"report"}}) {
    const Output shown = server_.cli(words);
    for (const std::string& command : commands_in(shown.out + shown.err)) {
      EXPECT_EQ(command.find("--data"), std::string::npos) << command;
    }
  }
}

TEST_F(PastedConnectionTest, ProgramsGetWhatTheServerSays) {  // O6
  const Output json = server_.cli({"run", "get", "ffffffff", "--json"});
  const Output typed =
      elsewhere({"run", "get", "ffffffff", "--json"}, {"--data", server_.data().string()});
  EXPECT_EQ(typed.out, json.out);
  EXPECT_NE(json.out.find("\"signalbox run list\""), std::string::npos) << json.out;
}

}  // namespace
}  // namespace signalbox
