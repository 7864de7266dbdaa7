// Refusals of the command line: each names a command that can be pasted, and what is so.
#include "tests/scenarios/audit_fixture.h"
#include "tests/scenarios/repository_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// Returns the command that a refusal names first; empty if it names none.
std::string tried(const Output& refused) {
  const std::string before = "  try: ";
  const std::size_t begin = refused.err.find(before);
  if (begin == std::string::npos) return {};
  const std::size_t command = begin + before.size();
  return refused.err.substr(command, refused.err.find('\n', command) - command);
}

TEST_F(AuditTest, ARefusalOfAValueNamesACommand) {  // O6
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"run", "list", "--since", "foo"},
        {"run", "list", "--label", "foo"},
        {"run", "start", "g", "--label", "foo"},
        {"replay", "--to", "99999"},
        {"replay", "--to", "99999", "--step"},
        {"audit", "prove", "99999", "--signing-key", at("audit.key")},
        {"access", "issue", "", "--role", "viewer"}}) {
    const Output refused = server_.cli(words);
    EXPECT_NE(refused.exit_code, 0) << refused.out;
    const std::string command = tried(refused);
    EXPECT_TRUE(command.starts_with("signalbox ")) << words.front() << ": " << refused.err;
    EXPECT_EQ(paste(command).exit_code, 0) << command;
    std::vector<std::string> with_json = words;
    with_json.emplace_back("--json");
    const json::object error = one_object(server_.cli(with_json)).at("error").as_object();
    EXPECT_FALSE(error.at("data").at("next_commands").as_array().empty()) << words.front();
  }
}

TEST_F(CliTest, HelpAsAWordLeadsToTheHelpOfItsGroup) {  // O6
  for (const std::string group : {"run", "card", "audit"}) {
    const Output refused = server_.cli({group, "help"});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_EQ(tried(refused), "signalbox " + group + " --help") << refused.err;
  }
  const Output command = server_.cli({"run", "list", "help"});
  EXPECT_EQ(tried(command), "signalbox run list --help") << command.err;
}

TEST_F(CliTest, HelpHasAllExitCodes) {  // O6
  const std::string help = server_.cli({"--help"}).out;
  for (const char* code : {" 65 ", " 69 ", " 74 ", " 75 ", " 76 ", " 77 ", " 78 "}) {
    const std::size_t found = help.find(code);
    EXPECT_TRUE(found != std::string::npos ||
                help.find("\n" + std::string(code).substr(1)) != std::string::npos)
        << code << help;
  }
}

TEST_F(CliTest, AFilterThatLeavesNothingIsNoEmptyList) {  // O6
  EXPECT_EQ(server_.cli({"strategy", "list", "--project", "nosuch"}).out,
            "no strategy matches; `signalbox strategy list` shows all of them\n");
  EXPECT_EQ(server_.cli({"plan", "list", "--waiting-for", "plan"}).out,
            "no plan matches; `signalbox plan list` shows all of them\n");
  EXPECT_EQ(server_.cli({"strategy", "list"}).out, "no attempt has followed a failed one yet\n");
  EXPECT_EQ(server_.cli({"plan", "list"}).out,
            "no deep work in progress; a run with a deep_work station begins it\n");
}

TEST_F(CliTest, ARefusedPipelineSaysWhatIsMissing) {  // O6
  const auto refusal_of = [this](const std::string& toml) {
    write_text(scratch_.path() / "wrong.toml", toml);
    const Output refused =
        server_.cli({"run", "start", "g", "--pipeline", (scratch_.path() / "wrong.toml").string()});
    EXPECT_EQ(refused.exit_code, 2) << refused.out;
    EXPECT_EQ(tried(refused), "signalbox run start --help") << refused.err;
    return refused.err;
  };
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(refusal_of("name = \"w\"\n"), "pipeline.station is missing: a pipeline needs one");
  has(refusal_of("name = \"w\"\n"), "[[station]]");
  has(refusal_of("[[station]]\nname = \"a\"\n"), "pipeline.name is missing");
  has(refusal_of("name = \"\"\n[[station]]\nname = \"a\"\n"), "pipeline.name must be 1 to 64");
}

TEST_F(CliTest, AStrategyIsOneOfTheStations) {  // O6
  const std::string run = start_run("to fail");
  ASSERT_EQ(complete(run, "plan", claim(run), "succeeded").exit_code, 0);
  ASSERT_EQ(complete(run, "implement", claim(run), "failed").exit_code, 0);
  const Output unknown = server_.cli({"run", "retry", run, "--strategy", "xx"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.err.find("a station may have fewer"), std::string::npos) << unknown.err;
  const Output other = server_.cli({"run", "retry", run, "--strategy", "simplified"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.err.find("of station implement: original"), std::string::npos) << other.err;
}

// At present another run may be the last one.
TEST_F(CliTest, WhatHasNoPastIsNamedAsItWasTyped) {  // O4, O6
  const std::string run = start_run("first");
  const auto then = rpc("run.get", {{"run_id", run}}).at("position").to_number<std::int64_t>();
  const std::string later = start_run("later");
  for (const std::string& id : {std::string("last"), run.substr(run.size() - 8), run}) {
    const Output refused =
        server_.cli({"run", "cancel", id, "--at", std::to_string(then), "--reason", "it's late"});
    EXPECT_EQ(refused.exit_code, 77) << refused.err;
    const std::string command = tried(refused);
    EXPECT_TRUE(command.starts_with("signalbox run cancel " + run + " ")) << refused.err;
    EXPECT_EQ(command.find("--at"), std::string::npos) << command;
  }
  const std::string command =
      tried(server_.cli({"run", "cancel", "last", "--at", std::to_string(then)}));
  EXPECT_EQ(paste(command).exit_code, 0) << command;
  EXPECT_EQ(text(this->run(run), "status"), "canceled");
  EXPECT_EQ(text(this->run(later), "status"), "queued");
}

TEST_F(RepositoryTest, ARunWithoutAnIntakeHasNoWorktreeToShow) {  // O6
  make_repository_and_remote({{"greeting.txt", "Hello\n"}});
  const std::string run = start_run_of("name = \"w\"\n[[station]]\nname = \"a\"\n", "g",
                                       {"--repository", repository().string()});
  const Output refused = server_.cli({"run", "diff", run});
  EXPECT_EQ(refused.exit_code, 1) << refused.out;
  EXPECT_NE(refused.err.find("has no intake station"), std::string::npos) << refused.err;
  const std::string help = server_.cli({"run", "start", "--help"}).out;
  EXPECT_NE(help.find("`intake` station"), std::string::npos) << help;
}

}  // namespace
}  // namespace signalbox
