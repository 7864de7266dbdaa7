// `replay --against` believes no other program: it needs the same log, a digest at each position,
// and an answer within a deadline. The other programs are scripts that answer wrongly.
#include <signal.h>

#include "tests/scenarios/cli_fixture.h"
#include "tools/replay/other_program.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class ReplayAgainstTest : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    for (int each = 0; each < 3; ++each) start_run("a run " + std::to_string(each));
    server_.stop();
  }

  // Writes a program that runs this shell script. Returns its path.
  [[nodiscard]] std::string program(const std::string& script) const {
    const std::string path = (scratch_.path() / "other").string();
    write_text(path, "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }

  // Compares with the script. Expects the exit code and the error's code; returns its message.
  std::string refused(const std::string& script, int exit_code, const std::string& code,
                      const std::vector<std::string>& more = {}) const {
    SCOPED_TRACE(script);
    std::vector<std::string> words = {"replay", "--verify", "--against", program(script), "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Output output = server_.cli(words);
    EXPECT_EQ(output.exit_code, exit_code) << output.out;
    const json::object error = one_object(output).at("error").as_object();
    const json::object& data = error.at("data").as_object();
    EXPECT_EQ(text(data, "code"), code);
    EXPECT_FALSE(data.at("next_commands").as_array().empty());
    return text(error, "message");
  }

  // A script that answers with the real result, changed by a line of Python.
  static std::string changed(const std::string& line) {
    return "exec '" SIGNALBOX_PYTHON
           "' - \"$@\" <<'END'\n"
           "import json, subprocess, sys\n"
           "ended = subprocess.run(['" SIGNALBOX_BINARY
           "'] + sys.argv[1:], capture_output=True)\n"
           "answer = json.loads(ended.stdout)\n"
           "result = answer.get('result', {})\n" +
           line + "\nprint(json.dumps(answer))\nEND";
  }
};

TEST_F(ReplayAgainstTest, AnAnswerWithoutDigestsProvesNothing) {  // G17
  refused(R"(echo '{"ok":true,"result":{}}')", 76, "AGAINST_INCOMPLETE");
  refused(R"(echo '{"ok":true}')", 76, "AGAINST_INCOMPLETE");
  refused(changed("del result['state_digest']"), 76, "AGAINST_INCOMPLETE");
  refused(changed("result['digests'] = []; result['state_digest'] = ''"), 76, "AGAINST_INCOMPLETE");
  const std::string few = refused(changed("result['digests'] = result.get('digests', [])[1:]"), 76,
                                  "AGAINST_INCOMPLETE", {"--digest-every", "1"});
  EXPECT_NE(few.find("no state digest at 1:"), std::string::npos) << few;
  refused(changed("result['digests'] = ['nonsense', 7]"), 76, "AGAINST_INCOMPLETE",
          {"--digest-every", "1"});
}

TEST_F(ReplayAgainstTest, AFailureOfTheOtherProgramIsOne) {  // G17
  refused("echo '[]'", 1, "AGAINST_FAILED");
  refused("echo nonsense", 1, "AGAINST_FAILED");
  refused(R"(echo '{"ok":false,"error":{"message":"no"}}')", 1, "AGAINST_FAILED");
  refused(changed("answer['ok'] = False"), 1, "AGAINST_FAILED");
  refused("kill -9 $$", 1, "AGAINST_FAILED");
  refused("exit 2", 2, "AGAINST_UNUSABLE");
  const Output none = server_.cli({"replay", "--against", "/nonexistent", "--json"});
  EXPECT_EQ(none.exit_code, 2) << none.out;
}

TEST_F(ReplayAgainstTest, TheReplayOfAnotherLogIsSeen) {  // G17
  // Two new logs have the same state at their ends, so the digests are the same.
  RealServer other({"--watchdog-interval", "1h"});
  std::filesystem::create_directories(other.data());
  std::filesystem::permissions(other.data(), std::filesystem::perms::owner_all);
  other.start();
  other.stop();
  const std::string there = other.data().string();
  refused("exec " SIGNALBOX_BINARY " replay --json --data '" + there + "'", 65,
          "AGAINST_OTHER_LOG");
  refused(changed("result['root'] = '0' * 64"), 65, "AGAINST_OTHER_LOG");
  RealServer twin({"--watchdog-interval", "1h"});
  std::filesystem::create_directories(twin.data());
  std::filesystem::permissions(twin.data(), std::filesystem::perms::owner_all);
  twin.start();
  twin.stop();
  const Output twins =
      twin.cli({"replay", "--json", "--against",
                program("exec " SIGNALBOX_BINARY " replay --json --data '" + there + "'")});
  EXPECT_EQ(twins.exit_code, 65) << twins.out;
  EXPECT_EQ(code_of(twins), "AGAINST_OTHER_LOG");
  // A program that doesn't say its root is asked for a checkpoint.
  const std::string without_root = changed("if 'state_digest' in result: result.pop('root', None)");
  const json::object same =
      result({"replay", "--verify", "--digest-every", "2", "--against", program(without_root)});
  EXPECT_GE(same.at("digests_compared").to_number<int>(), 3);
  refused("case $1 in replay) " + changed("result.pop('root', None)") + "\n;; *) exec " +
              SIGNALBOX_BINARY " audit checkpoint --json --data '" + there +
              "' --signing-key \"$9\";; esac",
          76, "AGAINST_INCOMPLETE");
}

TEST_F(ReplayAgainstTest, OneThatNeverAnswersIsEnded) {  // G17
  const std::string pids = (scratch_.path() / "pids").string();
  // The second process ignores TERM and is only reached through its group.
  const std::string message = refused(
      "sh -c 'trap \"\" TERM; echo $$ >\"" + pids + "\"; while :; do sleep 1; done' &\nwait", 69,
      "AGAINST_SILENT", {"--against-deadline", "5s"});
  EXPECT_NE(message.find("within 5s"), std::string::npos) << message;
  const std::string pid = content_of(pids);
  ASSERT_FALSE(pid.empty());
  await([&] { return ::kill(std::stoi(pid), 0) != 0; });
  for (const std::string& deadline :
       {std::string("0s"), std::to_string(limits::against_deadline_ms_max + 1) + "ms"}) {
    EXPECT_EQ(server_.cli({"replay", "--against", "x", "--against-deadline", deadline}).exit_code,
              2)
        << deadline;
  }
}

TEST_F(ReplayAgainstTest, EveryDigestIsCompared) {  // G17
  const json::object same =
      result({"replay", "--verify", "--digest-every", "1", "--against", SIGNALBOX_BINARY});
  EXPECT_EQ(same.at("digests_compared").to_number<std::int64_t>(),
            same.at("position").to_number<std::int64_t>());
  EXPECT_EQ(text(same, "root").size(), 64U);
  const json::object early = result({"replay", "--to", "2", "--against", SIGNALBOX_BINARY});
  EXPECT_EQ(early.at("digests_compared"), 1);
}

}  // namespace
}  // namespace signalbox
