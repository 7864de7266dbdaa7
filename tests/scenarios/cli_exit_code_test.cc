// The contract with scripts: exit codes, and exactly one JSON object on stdout with --json.
#include <filesystem>
#include <fstream>
#include <regex>

#include "tests/scenarios/cli_fixture.h"
#include "tools/cli/text_source.h"

namespace signalbox {
namespace {

const std::string no_run = "0190f3c4-5b6a-7c8d-9e0f-123456789abc";

std::string error_code(const boost::json::object& object) {
  EXPECT_FALSE(object.at("ok").as_bool());
  return std::string(object.at("error").at("data").at("code").as_string());
}

TEST_F(CliTest, WhatTheServerRefusesExitsWithOneAndSaysWhatToTry) {
  const Output refused = server_.cli({"run", "get", no_run});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_EQ(refused.out, "");
  EXPECT_NE(refused.err.find("RUN_NOT_FOUND"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("try: signalbox run list"), std::string::npos) << refused.err;

  const Output json = server_.cli({"run", "get", no_run, "--json"});
  EXPECT_EQ(json.exit_code, 1);
  EXPECT_EQ(error_code(one_object(json)), "RUN_NOT_FOUND");
}

TEST_F(CliTest, AWrongCommandLineExitsWithTwo) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"run"},
        {"run", "fly"},
        {"run", "get"},
        {"run", "list", "--bogus"},
        {"run", "list", "--at", ""},
        {"run", "list", "--status", "asleep"},
        {"rpc", "run.list", "{"},
        {"rpc", "run.fly"},
        {"run", "start", "x", "--input", "{"},
        {"run", "start", "x", "--label", "no-value"},
        {"run", "start", "x", "--pipeline", "/does/not/exist"},
        {"run", "start", "x", "--pipeline", ""},
        {"run", "start", "x", "--repository", ""},
        {"run", "start", "x", "--run-root", ""},
        {"project", "put", "p", "--repository", ""}}) {
    const Output plain = server_.cli(words);
    EXPECT_EQ(plain.exit_code, 2) << words.back();
    EXPECT_EQ(plain.out, "") << words.back();
    EXPECT_NE(plain.err, "") << words.back();
    auto with_json = words;
    with_json.emplace_back("--json");
    const Output json = server_.cli(with_json);
    EXPECT_EQ(json.exit_code, 2) << words.back();
    EXPECT_FALSE(one_object(json).at("ok").as_bool());
  }
}

TEST_F(CliTest, AFileOfParamsHasALimit) {  // P8
  const std::filesystem::path file = scratch_.path() / "params";
  const auto said_of = [&](std::size_t bytes) {
    std::ofstream(file) << std::string(bytes, 'x');
    const Output output = server_.cli({"rpc", "run.list", "@" + file.string()});
    EXPECT_EQ(output.exit_code, 2);
    return output.err;
  };
  const std::string at_limit = said_of(source_bytes_max);
  EXPECT_NE(at_limit.find("signalbox: PARAMS: not JSON at byte "), std::string::npos) << at_limit;
  const std::string beyond = said_of(source_bytes_max + 1);
  EXPECT_NE(beyond.find("has more than " + std::to_string(source_bytes_max) + " bytes"),
            std::string::npos)
      << beyond;
}

TEST_F(CliTest, ACommandThatDoesntExistIsNamedWithThoseThatDo) {
  const auto expect = [this](std::vector<std::string> words, const std::string& said) {
    const Output output = server_.cli(std::move(words));
    EXPECT_EQ(output.exit_code, 2) << said;
    EXPECT_NE(output.err.find(said), std::string::npos) << output.err;
    std::istringstream lines(output.err);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  };
  expect({"run", "fly"}, "there is no `signalbox run fly`; there are start, get, list");
  expect({"fly"}, "there is no `signalbox fly`; there are serve, run");
  expect({"lock", "steal", "deploy"}, "there is no `signalbox lock steal`");
  expect({"run"}, "`signalbox run` needs a command: start");
}

// The first words of all commands, as the program lists them: each alone either does something or
// says what is missing. None ends by a signal.
TEST_F(CliTest, AGroupOfCommandsAloneNamesItsCommands) {  // O6
  std::istringstream help(run_process({SIGNALBOX_BINARY, "--help"}).out);
  std::string line;
  while (std::getline(help, line) && line != "Subcommands:") continue;
  std::size_t groups = 0;
  while (std::getline(help, line) && !line.empty()) {
    std::string word;
    std::istringstream(line) >> word;
    const Output page = run_process({SIGNALBOX_BINARY, "help", word});
    if (!line.starts_with("  ") || line.starts_with("   ") || word == "runner") continue;
    if (page.out.find("\nSubcommands:\n") == std::string::npos) continue;
    ++groups;
    const Output alone = server_.cli({word});
    EXPECT_EQ(alone.exit_code, 2) << word << ": " << alone.err;
    EXPECT_NE(alone.err.find("`signalbox " + word + "` needs a command: "), std::string::npos)
        << word << ": " << alone.err;
  }
  EXPECT_GE(groups, 17U);
}

TEST_F(CliTest, AMistypedWordGetsTheOneThatWasMeant) {  // O6
  const auto expect = [this](std::vector<std::string> words, const std::string& said) {
    const Output output = server_.cli(std::move(words));
    EXPECT_EQ(output.exit_code, 2) << said;
    EXPECT_NE(output.err.find(said), std::string::npos) << output.err;
  };
  expect({"rnu", "list"}, "there is no `signalbox rnu`; did you mean `signalbox run`?");
  expect({"run", "lsit"}, "did you mean `signalbox run list`?");
  expect({"run", "lsit"}, "try: signalbox run list --help");
  expect({"run", "list", "--stauts", "failed"},
         "`signalbox run list` has no option --stauts; did you mean --status?");
  expect({"card", "submit", "x", "--projct=web"}, "--project?");
  expect({"run", "list", "--jsno"}, "did you mean --json?");
  expect({"run", "list", "--colour"}, "`signalbox run list` has no option --colour (USAGE)");
  expect({"help", "run", "lsit"}, "did you mean `signalbox run list`?");
  expect({"run", "list", "failed"}, "`signalbox run list` takes no further word: `failed`");
  // The right word in the wrong place.
  expect({"crash-report"}, "try: signalbox server crash-report --help");
  expect({"logs", "last"}, "try: signalbox run logs --help");
  expect({"log"}, "there is no `signalbox log`; did you mean `signalbox run logs`?");
  expect({"card", "approve", "last"}, "try: signalbox run approve --help");
  expect({"run", "crash-report"}, "try: signalbox server crash-report --help");
  expect({"list"}, "there is no `signalbox list`; there are serve, run");
}

// O6: what an option takes, not that something couldn't be converted; and text as JSON can carry
// it.
TEST_F(CliTest, AValueOfTheWrongKindSaysWhatItTakes) {
  const auto complaint = [this](const std::vector<std::string>& words) {
    const Output output = server_.cli(words);
    EXPECT_EQ(output.exit_code, 2) << output.out;
    return output.err.substr(0, output.err.find('\n'));
  };
  EXPECT_EQ(complaint({"run", "list", "--limit", "-1"}),
            "signalbox: --limit takes a whole number of 0 or more; -1 isn't one (USAGE)");
  EXPECT_EQ(complaint({"run", "list", "--limit", "many"}),
            "signalbox: --limit takes a whole number of 0 or more; many isn't one (USAGE)");
  EXPECT_EQ(complaint({"events", "--limit", "0"}),
            "signalbox: --limit takes a whole number from 1 to 1000000; 0 isn't one (USAGE)");
  EXPECT_EQ(complaint({"run", "start", "g", "--max-cost-usd", "-1"}),
            "signalbox: --max-cost-usd takes a number from 0 to 1000000; -1 isn't one (USAGE)");
  EXPECT_EQ(complaint({"run", "list", "--limit", "1", "--limit", "2"}),
            "signalbox: --limit may be given once, and was given 2 times (USAGE)");
  EXPECT_EQ(complaint({"replay", "--what-if", "no.toml"}),
            "signalbox: --what-if: there is no file no.toml (USAGE)");
  EXPECT_EQ(
      run_process({SIGNALBOX_BINARY, "run", "list", "--project"}).err,
      "signalbox: --project needs a value: PROJECT (USAGE)\n  try: signalbox run list --help\n");
  EXPECT_NE(complaint({"lock", "get", "caf\xe9"}).find("isn't UTF-8"), std::string::npos);
}

// `--data "$BOX"` without a BOX is a slip, and would be another service.
TEST(CliWithoutServer, AnEmptyPlaceIsNotTheDefaultOne) {  // O6
  const TemporaryDirectory state;
  for (const std::string option : {"--data", "--socket", "--server", "--ca", "--token-file"}) {
    for (const std::string command : {"status", "serve"}) {
      const Output refused = run_process({SIGNALBOX_BINARY, command, option, ""},
                                         {"XDG_STATE_HOME=" + state.path().string()});
      EXPECT_EQ(refused.exit_code, 2) << command << " " << option << refused.err;
      EXPECT_NE(refused.err.find("signalbox: " + option + ": its value is empty (USAGE)"),
                std::string::npos)
          << refused.err;
    }
  }
}

// Programs get a message in one line; it is broken for people alone.
TEST_F(CliTest, ALongComplaintIsOneLineInJson) {  // O6
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"fly"}, {"run"}, {"run", "list", "--status", "asleep"}}) {
    std::vector<std::string> with_json = words;
    with_json.emplace_back("--json");
    const auto message = one_object(server_.cli(with_json)).at("error").at("message").as_string();
    EXPECT_EQ(message.find('\n'), message.npos) << message;
    std::istringstream lines(server_.cli(words).err);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  }
}

TEST(CliWithoutServer, HelpAndVersionAreCommandsToo) {  // O6
  const auto printed = [](std::vector<std::string> words) {
    words.insert(words.begin(), SIGNALBOX_BINARY);
    const Output output = run_process(words);
    EXPECT_EQ(output.exit_code, 0) << output.err;
    return output.out;
  };
  EXPECT_EQ(printed({"help"}), printed({"--help"}));
  EXPECT_EQ(printed({"help", "run", "list"}), printed({"run", "list", "--help"}));
  EXPECT_EQ(printed({"version"}), printed({"--version"}));
  EXPECT_NE(printed({"version", "--json"}).find("\"version\":\"signalbox "), std::string::npos);
}

// Whatever depends on whether servers and runners have one version can tell two builds apart.
TEST(CliWithoutServer, ItsVersionHasTheCommitThatItWasBuiltFrom) {  // K9
  const auto git = [](std::vector<std::string> words) {
    words.insert(words.begin(), {"git", "-C", SIGNALBOX_SOURCE_DIR});
    return run_process(words).exit_code;
  };
  const std::string version = run_process({SIGNALBOX_BINARY, "--version"}).out;
  std::smatch parts;
  const std::regex form(R"(signalbox \d+\.\d+\.\d+(\+([0-9a-f]{12})(\.modified)?)?\n)");
  ASSERT_TRUE(std::regex_match(version, parts, form)) << version;
  const bool is_in_repository = git({"rev-parse", "--verify", "--quiet", "HEAD"}) == 0;
  EXPECT_EQ(parts[2].matched, is_in_repository) << version;
  if (!is_in_repository) return;
  EXPECT_EQ(git({"cat-file", "-e", parts[2].str() + "^{commit}"}), 0) << version;
}

TEST_F(CliTest, ABadPipelineNamesFileStationAndField) {
  const std::string file = (scratch_.path() / "bad.toml").string();
  std::ofstream(file) << "name = \"bad\"\n[[station]]\nname = \"plan\"\ntimeout = \"soon\"\n";
  const Output output = server_.cli({"run", "start", "x", "--pipeline", file});
  EXPECT_EQ(output.exit_code, 2);
  for (const char* expected : {"bad.toml", "plan", "timeout", "PIPELINE_INVALID"}) {
    EXPECT_NE(output.err.find(expected), std::string::npos) << output.err;
  }
}

// Whoever has no pipeline yet finds one where a refusal sends them.
TEST_F(CliTest, TheExampleInTheHelpIsAPipeline) {  // O6
  const std::string file = (scratch_.path() / "example.toml").string();
  std::ofstream(file) << "name = \"x\"\n[[stations]]\n";
  const Output refused = server_.cli({"run", "start", "x", "--pipeline", file});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("try: signalbox run start --help"), std::string::npos) << refused.err;
  const std::string help = run_process({SIGNALBOX_BINARY, "run", "start", "--help"}).out;
  const std::size_t begin = help.find("  name = ");
  const std::size_t end = help.find("The other executors ");
  ASSERT_NE(begin, std::string::npos) << help;
  ASSERT_LT(begin, end) << help;
  std::ofstream(file) << help.substr(begin, end - begin);
  const Output taken = server_.cli({"run", "start", "x", "--pipeline", file});
  EXPECT_EQ(taken.exit_code, 0) << taken.err;
}

TEST(CliWithoutServer, ExitsWith69AndSaysHowToStartOne) {
  const TemporaryDirectory nothing;
  const std::string data = nothing.path().string();
  const Output plain = run_process({SIGNALBOX_BINARY, "status", "--data", data});
  EXPECT_EQ(plain.exit_code, 69);
  EXPECT_NE(plain.err.find("signalbox serve --data " + data), std::string::npos) << plain.err;
  const Output json = run_process({SIGNALBOX_BINARY, "status", "--data", data, "--json"});
  EXPECT_EQ(json.exit_code, 69);
  EXPECT_EQ(error_code(boost::json::parse(json.out).as_object()), "NOT_REACHABLE");
}

TEST(CliWithoutServer, HelpAndVersionGoToStdout) {
  for (const char* noun : {"serve", "run", "station", "lock", "access", "events", "server", "rpc",
                           "replay", "audit", "bench", "completion", "status", "help", "version"}) {
    const Output help = run_process({SIGNALBOX_BINARY, noun, "--help"});
    EXPECT_EQ(help.exit_code, 0) << noun;
    EXPECT_NE(help.out.find("Examples:"), std::string::npos) << noun;
  }
  EXPECT_TRUE(run_process({SIGNALBOX_BINARY, "--version"}).out.starts_with("signalbox "));
}

TEST(CliWithoutServer, HelpNamesValuesAndNotTheParsersTypes) {  // O6
  const auto help = [](const std::vector<std::string>& words) {
    std::vector<std::string> argv{SIGNALBOX_BINARY};
    argv.insert(argv.end(), words.begin(), words.end());
    argv.emplace_back("--help");
    return run_process(argv).out;
  };
  for (const std::vector<std::string>& words : {std::vector<std::string>{"run", "start"},
                                                {"run", "list"},
                                                {"events"},
                                                {"runner"},
                                                {"serve"},
                                                {"card", "submit"},
                                                {"lock", "exec"},
                                                {"tick", "begin"}}) {
    const std::string page = help(words);
    for (const char* type : {" UINT", " INT ", " FLOAT", "TEXT:", " in ["}) {
      EXPECT_EQ(page.find(type), std::string::npos) << type << "\n" << page;
    }
  }
  const std::string start = help({"run", "start"});
  for (const char* expected : {"  --project PROJECT ", "  --idempotency-key KEY ",
                               "  --max-retries N ", "  --max-cost-usd USD (0 to 1000000)"}) {
    EXPECT_NE(start.find(expected), std::string::npos) << expected << "\n" << start;
  }
  EXPECT_NE(help({"run", "list"}).find("  --order-by {started, updated, ended}"),
            std::string::npos);
}

// A command is parsed with the options of its own family alone, and --help has all of them,
// whatever follows it.
TEST(CliWithoutServer, HelpHasAllCommands) {  // O7
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--help"}, {"--data", "x", "--help"}}) {
    std::vector<std::string> argv = words;
    argv.insert(argv.begin(), SIGNALBOX_BINARY);
    const Output help = run_process(argv);
    EXPECT_EQ(help.exit_code, 0) << words.back();
    for (const char* command : {"run", "lock", "report", "status", "audit", "completion"}) {
      EXPECT_NE(help.out.find("\n  " + std::string(command) + " "), std::string::npos)
          << command << "\n"
          << help.out;
    }
  }
  const Output after_options =
      run_process({SIGNALBOX_BINARY, "--json", "--data=x", "--at", "3", "lock", "--help"});
  EXPECT_EQ(after_options.exit_code, 0) << after_options.err;
  EXPECT_NE(after_options.out.find("acquire"), std::string::npos) << after_options.out;
  const Output wrong = run_process({SIGNALBOX_BINARY, "rnu", "list"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_NE(wrong.err.find("run"), std::string::npos) << wrong.err;
}

// What few commands need isn't loaded before they run: libcurl brings 25 libraries with it, and
// libsystemd a few more.
TEST(CliWithoutServer, StartingLoadsNoLibraryOfRequests) {  // O7
  const Output libraries = run_process({"ldd", SIGNALBOX_BINARY});
  EXPECT_EQ(libraries.exit_code, 0) << libraries.err;
  EXPECT_NE(libraries.out.find("libcrypto"), std::string::npos) << libraries.out;
  for (const char* needless : {"libcurl", "libldap", "libgnutls", "libkrb5", "libsystemd"}) {
    EXPECT_EQ(libraries.out.find(needless), std::string::npos) << libraries.out;
  }
}

TEST(CliWithoutServer, BenchIsAProgramBesideIt) {
  const TemporaryDirectory place;
  const std::string program = (place.path() / "signalbox").string();
  std::filesystem::copy_file(SIGNALBOX_BINARY, program);
  const Output missing = run_process({program, "bench", "--quick"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_NE(missing.err.find("try: cmake --build build --target signalbox-bench"),
            std::string::npos)
      << missing.err;
  std::ofstream(program + "-bench") << "#!/bin/sh\necho \"$@\"\nexit 3\n";
  std::filesystem::permissions(program + "-bench", std::filesystem::perms::owner_all);
  const Output found = run_process({program, "--json", "bench", "--quick"});
  EXPECT_EQ(found.exit_code, 3);
  EXPECT_EQ(found.out, "--json bench --quick\n");
}

TEST_F(CliTest, WordsOfTheGoalAreNotTakenForCommands) {
  EXPECT_NE(start_run("status"), "");
  EXPECT_EQ(text(result({"run", "list"}).at("runs").at(0).as_object(), "goal"), "status");
}

TEST_F(CliTest, OptionsForAllMayStandBeforeTheCommand) {
  const Output output = run_process(
      {SIGNALBOX_BINARY, "--json", "--data", server_.data().string(), "server", "limits"});
  EXPECT_EQ(output.exit_code, 0);
  EXPECT_TRUE(one_object(output).at("ok").as_bool());
}

TEST_F(CliTest, TheSocketComesFromTheEnvironmentToo) {
  const Output output =
      run_process({SIGNALBOX_BINARY, "status"}, {"SIGNALBOX_SOCKET=" + server_.socket().string()});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  const Output data =
      run_process({SIGNALBOX_BINARY, "status"},
                  {"SIGNALBOX_SOCKET=", "SIGNALBOX_DATA=" + server_.data().string()});
  EXPECT_EQ(data.exit_code, 0) << data.err;
}

}  // namespace
}  // namespace signalbox
