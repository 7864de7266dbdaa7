// What the command line does only on a terminal, and the completion script in a real bash.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "server/text/printable_text.h"
#include "tests/scenarios/cli_fixture.h"
#include "tests/scenarios/on_terminal.h"

namespace signalbox {
namespace {

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

// C1's CSI, a right-to-left override and mark, and DEL: a terminal acts on them.
TEST_F(CliTest, JsonOnATerminalHasControlsAsEscapes) {  // G16
  const std::string goal =
      "a\xC2\x9b"
      "2J \xE2\x80\xAE \xE2\x80\x8F \xD8\x9C \x7f";
  const std::string id = start_run(goal);
  for (const std::string& words : {"run get " + id, std::string("events")}) {
    const std::string command =
        std::string(SIGNALBOX_BINARY) + " " + words + " --json --data " + server_.data().string();
    const Output shown = on_terminal(command, {"TERM=xterm", "NO_COLOR=1"});
    EXPECT_EQ(shown.exit_code, 0);
    std::string line = shown.out;
    std::erase(line, '\r');  // of the terminal
    EXPECT_TRUE(is_printable_lines(line)) << words;
    const Output piped = shell(command);
    EXPECT_FALSE(is_printable_lines(piped.out)) << words;
    EXPECT_EQ(boost::json::parse(line), boost::json::parse(piped.out)) << words;
  }
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

std::string on_80_columns(const std::string& words, const std::filesystem::path& data,
                          int exit_code = 0) {
  return on_columns(80, words, data, exit_code);
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
  result({"lock", "acquire", "repo/acme/website-production-eu-west-1", "--owner", "o"});
  const std::string events = on_80_columns("events", server_.data());
  EXPECT_NE(events.find("lock/…"), std::string::npos) << events;
  EXPECT_NE(events.find("west-1  LockAcquired"), std::string::npos) << events;
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

// What is pasted into the next command is there in whole, or as an end that the command takes.
// What a person decides takes one short command, and no reason takes the columns of the goal.
TEST_F(CliTest, WhatWaitsFitsIntoEightyColumns) {  // O1, O2, O6
  const std::string pipeline =
      "name = \"a\"\n[[station]]\nname = \"review\"\nexecutor = \"approval\"\n";
  const std::string run = start_run_of(pipeline, "a goal to be seen");
  await([&] {
    const auto items = result({"run", "list", "--waiting-for", "approval"}).at("runs");
    return !items.as_array().empty();
  });
  const std::string why = on_80_columns("run why last", server_.data());
  EXPECT_NE(why.find("signalbox run approve " + run), std::string::npos) << why;
  result({"run", "pause", run, "--reason", "the lawyers want to look at it before anybody else"});
  const std::string list = on_80_columns("run list", server_.data());
  EXPECT_NE(list.find("a goal to be seen"), std::string::npos) << list;
  const std::string inbox = on_80_columns("inbox", server_.data(), 1);
  EXPECT_NE(inbox.find("$ signalbox run approve " + run), std::string::npos) << inbox;
  EXPECT_EQ(inbox.find("--asked"), std::string::npos) << inbox;
  const Output whole = server_.cli({"inbox"});
  EXPECT_NE(whole.out.find("--decision approve --asked"), std::string::npos) << "for scripts";
}

TEST_F(CliTest, AQuestionOfAWorkerFitsIntoEightyColumns) {  // O6
  const std::string run = start_run("a goal");
  const std::string token = claim(run);
  const Output asked =
      server_.cli({"station", "request-approval", "--run", run, "--station", "plan", "--token",
                   token, "--question", "May the tables be dropped before the morning?"});
  EXPECT_EQ(asked.exit_code, 0) << asked.err;
  const std::string why = on_80_columns("run why last", server_.data());
  EXPECT_NE(why.find("signalbox events --from "), std::string::npos) << why;
}

TEST_F(CliTest, AWatchedRunSaysMoreThanWhichRunItIs) {  // O6
  result({"run", "cancel", start_run("seen in its first line")});
  const std::string watched = on_80_columns("run watch last", server_.data(), 1);
  EXPECT_NE(watched.find("goal=\"seen in its first line\""), std::string::npos) << watched;
}

// What an event means is the reason to ask.
TEST_F(CliTest, NoSentenceAboutAnEventIsCut) {  // O5, O6
  const std::string shown = on_80_columns("events --list-types", server_.data());
  EXPECT_EQ(shown.find("…"), std::string::npos) << shown;
  EXPECT_NE(shown.find("RunPaused"), std::string::npos) << shown;
}

// Values of fields with long names, and the digest beside its name.
TEST_F(CliTest, WhatChangedFitsIntoEightyColumns) {  // O5, O6
  const std::string run = start_run(std::string(70, 'g'));
  result({"run", "pause", run, "--reason", std::string(70, 'r')});
  const std::string changes = on_80_columns("diff --from 1 --all", server_.data());
  EXPECT_NE(changes.find("gggg…"), std::string::npos) << changes;
  on_80_columns("replay --verify", server_.data());
}

TEST_F(CliTest, MessagesFitIntoEightyColumns) {  // O6
  start_run("a run that hasn't failed");
  const std::string refused = on_80_columns("run retry last", server_.data(), 1);
  EXPECT_NE(refused.find("(RUN_NOT_FAILED)"), std::string::npos) << refused;
  const std::string none = on_80_columns("run get ffffffff", server_.data(), 1);
  EXPECT_NE(none.find("  try: signalbox run list"), std::string::npos) << none;
  on_80_columns("report --since foo", server_.data(), 2);
  on_80_columns("run lsit", server_.data(), 2);
}

TEST_F(CliTest, NamesAndIdsOfTablesCanBePastedAtEightyColumns) {  // O6
  const std::string key = "deploy/production/europe/west";
  EXPECT_EQ(server_
                .cli({"lock", "acquire", key, "--owner", std::string(40, 'o'), "--reason",
                      std::string(60, 'r')})
                .exit_code,
            0);
  EXPECT_NE(on_80_columns("lock list", server_.data()).find(key), std::string::npos);
  const std::string loop = "a-loop-with-a-name-of-some-forty-letters";
  result({"tick", "begin", loop, "--reason", std::string(60, 'r')});
  EXPECT_NE(on_80_columns("tick list", server_.data()).find(loop), std::string::npos);

  const std::string name = "the-token-of-the-build-server";
  EXPECT_EQ(server_.cli({"access", "issue", name, "--role", "operator", "--expires-in", "720h"})
                .exit_code,
            0);
  const auto tokens = result({"access", "list"}).at("tokens").as_array();
  ASSERT_EQ(tokens.size(), 1U);
  const std::string id = text(tokens.front().as_object(), "id");
  const std::string end = id.substr(id.size() - 8);
  const std::string list = on_80_columns("access list", server_.data());
  EXPECT_NE(list.find(name), std::string::npos) << list;
  EXPECT_NE(list.find(end), std::string::npos) << list;
  const Output revoked = server_.cli({"access", "revoke", end, "--reason", std::string(40, 'x')});
  EXPECT_EQ(revoked.out, "revoked\n") << revoked.err;
  EXPECT_NE(on_80_columns("access list", server_.data()).find(end), std::string::npos);
  EXPECT_EQ(server_.cli({"access", "revoke", "ffffffff", "--reason", "r"}).exit_code, 1);
}

// Returns the words that bash offers after `line`, one per line.
std::string offered(const std::string& line, const std::vector<std::string>& environment = {}) {
  const std::string script =
      "source <(signalbox completion bash)\n"
      "COMP_WORDS=(" +
      line +
      ")\n"
      "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
      "_signalbox\n"
      "printf '%s\\n' \"${COMPREPLY[@]}\"\n";
  std::vector<std::string> variables = environment;
  variables.push_back("PATH=" + std::filesystem::path(SIGNALBOX_BINARY).parent_path().string() +
                      ":" + std::getenv("PATH"));
  const Output output = run_process({"bash", "--norc", "-c", script}, variables);
  EXPECT_EQ(output.err, "");
  return "\n" + output.out;
}

TEST(Completion, OffersNounsVerbsOptionsAndValues) {
  EXPECT_NE(offered("signalbox ''").find("\nrun\n"), std::string::npos);
  EXPECT_EQ(offered("signalbox ru"), "\nrun\nrunner\n");
  EXPECT_NE(offered("signalbox run ''").find("\nwatch\n"), std::string::npos);
  EXPECT_EQ(offered("signalbox run ''").find("\nclaim\n"), std::string::npos);
  EXPECT_NE(offered("signalbox run list --").find("\n--project\n"), std::string::npos);
  EXPECT_NE(offered("signalbox run list --").find("\n--json\n"), std::string::npos);
  EXPECT_EQ(offered("signalbox run list --status f"), "\nfailed\n");
  EXPECT_EQ(offered("signalbox --json station c"), "\nclaim\ncomplete\n");
  EXPECT_EQ(offered("signalbox run list --status = f"), "\nfailed\n") << "bash takes words apart";
  EXPECT_EQ(offered("signalbox help run wh"), "\nwhy\n");
  EXPECT_EQ(offered("signalbox completion z"), "\nzsh\n");
}

TEST_F(CliTest, CompletionOffersWhatTheServerHas) {  // O6
  const std::string run = start_run("a goal");
  const std::string tail = run.substr(run.size() - 8);
  const std::vector<std::string> here = {"SIGNALBOX_DATA=" + server_.data().string()};
  EXPECT_EQ(offered("signalbox run get ''", here), "\nlast\n" + tail + "\n");
  EXPECT_EQ(offered("signalbox run get " + run.substr(0, 9), here), "\n" + run + "\n");
  EXPECT_EQ(offered("signalbox events --run l", here), "\nlast\n");
  EXPECT_EQ(offered("signalbox --data " + server_.data().string() + " loop trigger hea"),
            "\nheartbeat\n");
  for (const char* key : {"deploy", "$(touch surprise)"}) {
    EXPECT_EQ(server_.cli({"lock", "acquire", key, "--owner", "me"}).exit_code, 0);
  }
  EXPECT_EQ(offered("signalbox lock get ''", here), "\ndeploy\n") << "nothing that a shell runs";
  const Output described =
      run_process({SIGNALBOX_BINARY, "completion-offers", "3", "signalbox", "run", "get"}, here);
  EXPECT_NE(described.out.find(tail + "\tqueued: a goal\n"), std::string::npos) << described.out;
  server_.kill();
  EXPECT_EQ(offered("signalbox run get ''", here), "\n\n") << "no server, no word";
}

// A server that doesn't answer keeps nobody waiting.
TEST(Completion, GivesUpSoonWithoutAWord) {  // O6
  const TemporaryDirectory place;
  const std::string socket = (place.path() / "silent.sock").string();
  const std::string script =
      "import socket, subprocess, sys\n"
      "silent = socket.socket(socket.AF_UNIX)\n"
      "silent.bind(sys.argv[1])\n"
      "silent.listen()\n"
      "offers = subprocess.run(sys.argv[2:], capture_output=True, timeout=60)\n"
      "print(offers)\n";
  const Output output =
      run_process({SIGNALBOX_PYTHON, "-c", script, socket, SIGNALBOX_BINARY, "completion-offers",
                   "5", "signalbox", "--socket", socket, "run", "get"});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_NE(output.out.find("returncode=0"), std::string::npos) << output.out;
  EXPECT_NE(output.out.find("stdout=b'', stderr=b''"), std::string::npos) << output.out;
}

TEST(Completion, HasScriptsForThreeShells) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Output script = run_process({SIGNALBOX_BINARY, "completion", shell});
    EXPECT_EQ(script.exit_code, 0) << shell;
    EXPECT_NE(script.out.find("completion-offers"), std::string::npos) << shell;
  }
  EXPECT_EQ(run_process({SIGNALBOX_BINARY, "completion", "tcsh"}).exit_code, 2);
}

}  // namespace
}  // namespace signalbox
