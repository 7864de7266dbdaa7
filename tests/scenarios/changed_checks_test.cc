// A card whose agent changes what checks it, from outside: real git, jobs, heartbeat and merges.
#include <gtest/gtest.h>

#include "tests/scenarios/repository_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr const char* agents_file_of_base =
    "## Checks\n\n```sh\ntest -f done.txt\nsh tools/check\n```\n";

// Stands in for an agent: does what the card's title says, and what it is told about earlier work.
constexpr const char* pipeline_of_cards = R"(
name = "card"
[[station]]
name = "intake"
executor = "builtin"
[[station]]
name = "implement"
executor = "process"
command = ["sh", "-c", "case $SIGNALBOX_GOAL in Erase*) rm -rf $SIGNALBOX_RUN_ROOT/../../workspaces/$SIGNALBOX_RUN_ID; printf '## Checks\\n\\n```sh\\ntrue\\n```\\n' >AGENTS.md ;; Cheat*) printf '## Checks\\n\\n```sh\\ntrue\\n```\\n' >AGENTS.md ;; Extend*) echo done >done.txt; case $SIGNALBOX_INPUT in *earlier_work*AGENTS.md*) echo work >work.txt ;; *) echo '# Extended' >>AGENTS.md ;; esac ;; *) echo done >done.txt; echo work >work.txt ;; esac"]
retry = { max_retries = 0 }
[[station]]
name = "verify"
executor = "checks"
retry = { max_retries = 0 }
[[station]]
name = "create_pr"
executor = "builtin"
)";

constexpr const char* line_of_changed_checks = "CHANGES WHAT CHECKS IT: AGENTS.md\n";

class ChangedChecks : public CardTestOfRepository {
 protected:
  // Puts the project with this policy, or without a file.
  void put(const std::string& policy = "") const {
    fs::create_directories(repository() / "tools");
    write_text(repository() / "tools/check", "exit 0\n");
    if (!policy.empty()) write_text(repository() / "HEARTBEAT.md", policy);
    make_repository_and_remote({{"AGENTS.md", agents_file_of_base}});
    put_project(pipeline_of_cards);
  }
  static bool waits_for_decision(const json::object& card) {
    const json::object* const waiting = card.at("waiting").if_object();
    return waiting != nullptr && text(*waiting, "reason") == "approval";
  }
  [[nodiscard]] json::array approvals() const {
    return rpc("attention.list", {{"kinds", json::array{"approval"}}}).at("items").as_array();
  }
  // Who decides sees it where the question is.
  void expect_shown_in_inbox() const {
    const json::value item = approvals().at(0);
    ASSERT_TRUE(item.as_object().contains("checks_changed")) << json::serialize(item);
    EXPECT_EQ(item.at("checks_changed"), json::array({"AGENTS.md"}));
    const Output inbox = server_.cli({"inbox"});
    EXPECT_NE(inbox.out.find(line_of_changed_checks), std::string::npos) << inbox.out;
  }
  [[nodiscard]] std::string merged_agents_file() const {
    return shell("git -C remote.git show main:AGENTS.md").out;
  }
};

// What an agent writes into AGENTS.md doesn't judge its own work.
TEST_F(ChangedChecks, AnAgentThatReplacesTheChecksIsNotVerified) {  // A7
  put();
  const std::string id = submit("Cheat a little");
  await_card(id, "blocked");
  const json::object shown = card(id);
  EXPECT_EQ(text(shown, "code"), "CHECKS_FAILED") << json::serialize(shown);
  EXPECT_EQ(merged_agents_file(), agents_file_of_base);
}

// The log says what the work began at, whatever is left of the run's files.
TEST_F(ChangedChecks, AnAgentThatErasesWhatIntakeRecordedIsNotVerified) {  // A7
  put();
  const std::string id = submit("Erase the record");
  await_card(id, "blocked");
  const json::object shown = card(id);
  EXPECT_EQ(text(shown, "code"), "CHECKS_FAILED") << json::serialize(shown);
  EXPECT_EQ(merged_agents_file(), agents_file_of_base);
}

TEST_F(ChangedChecks, APersonDecidesAndTheOtherCardsGoOn) {  // A7
  put();
  const std::string id = submit("Extend the checks");
  await([&] { return waits_for_decision(card(id)); });
  const json::object shown = card(id);
  EXPECT_EQ(text(shown, "status"), "verifying");
  ASSERT_TRUE(shown.contains("checks_changed")) << json::serialize(shown);
  EXPECT_EQ(shown.at("checks_changed"), json::array({"AGENTS.md"}));

  const std::string other = submit("Work on something else");
  await_card(other, "merged");
  EXPECT_EQ(text(card(id), "status"), "verifying");
  EXPECT_EQ(merged_agents_file(), agents_file_of_base);
  EXPECT_NE(server_.cli({"board"}).out.find("needs a decision"), std::string::npos);

  const Output got = server_.cli({"card", "get", id});
  EXPECT_NE(got.out.find("a person has to decide: signalbox run why "), std::string::npos)
      << got.out;
  EXPECT_NE(got.out.find("changed checks"), std::string::npos) << got.out;

  expect_shown_in_inbox();

  const json::object why = result({"card", "why", id});
  EXPECT_EQ(why.at("moving"), false) << json::serialize(why);
  const json::object reason = why.at("reasons").at(0).as_object();
  EXPECT_EQ(text(reason, "reason"), "approval");
  EXPECT_NE(server_.cli({"card", "why", id}).out.find("AGENTS.md. May it be merged?"),
            std::string::npos);
  const std::string run_id = text(card(id), "run_id");
  const Output pull_request = server_.cli({"run", "artifact", run_id, "pull_request.md"});
  EXPECT_NE(pull_request.out.find("## Changed checks"), std::string::npos)
      << pull_request.out << pull_request.err;

  const std::string approve(reason.at("next_commands").at(0).as_string());
  EXPECT_NE(approve.find("--asked "), std::string::npos) << approve;
  const Output approved = paste(approve);
  EXPECT_EQ(approved.exit_code, 0) << approve << approved.out << approved.err;
  await_card(id, "merged");
  EXPECT_NE(merged_agents_file(), agents_file_of_base);
  EXPECT_EQ(card(id).at("checks_changed"), json::array({"AGENTS.md"})) << "it is still shown";
}

// Its checks have seen the change, and create_pr comes after the decision.
TEST_F(ChangedChecks, WhoApprovesARunBeforeItIsProposedSeesThemToo) {  // A7, O1
  put();
  const std::string with_question =
      std::string(pipeline_of_cards)
          .replace(std::string(pipeline_of_cards).find("[[station]]\nname = \"create_pr\""), 0,
                   "[[station]]\nname = \"ship\"\nexecutor = \"approval\"\n");
  const std::string run_id =
      start_run_of(with_question, "Extend the checks", {"--repository", repository().string()});
  await([&] { return !approvals().empty(); });
  expect_shown_in_inbox();
  const json::object run = result({"run", "get", run_id}).at("run").as_object();
  ASSERT_TRUE(run.contains("checks_changed")) << json::serialize(run);
  EXPECT_EQ(run.at("checks_changed"), json::array({"AGENTS.md"}));
  const Output got = server_.cli({"run", "get", run_id});
  EXPECT_NE(got.out.find("changed checks"), std::string::npos) << got.out;

  const std::string typed = (scratch_.path() / "typed").string();
  write_text(typed, "q\n");
  const Output asked =
      shell("script -qec \"" + std::string(SIGNALBOX_BINARY) + " run approve " + run_id +
            " --data '" + server_.data().string() + "'\" /dev/null <'" + typed + "'");
  EXPECT_NE(asked.out.find("CHANGES WHAT CHECKS IT: AGENTS.md"), std::string::npos)
      << asked.out << asked.err;
}

TEST_F(ChangedChecks, ThePolicyRefusesThem) {  // A7, A9
  put("## Synthesizer\n- checksChanged: refuse\n");
  const std::string id = submit("Extend the checks");
  await_card(id, "blocked");
  const json::object shown = card(id);
  EXPECT_EQ(text(shown, "code"), "CHECKS_CHANGED") << json::serialize(shown);
  EXPECT_TRUE(shown.at("retry_at").is_null());
  ASSERT_TRUE(shown.contains("checks_changed")) << json::serialize(shown);
  EXPECT_EQ(shown.at("checks_changed"), json::array({"AGENTS.md"}));
  EXPECT_EQ(merged_agents_file(), agents_file_of_base);
  EXPECT_EQ(shell("git -C remote.git for-each-ref refs/heads/signalbox").out, "")
      << "nothing left the machine";

  // The next run is given why, and does without.
  const json::object why = result({"card", "why", id});
  const std::string unblock(why.at("reasons").at(0).at("next_commands").at(0).as_string());
  const Output got = server_.cli({"card", "get", id});
  EXPECT_NE(got.out.find(unblock + "\n"), std::string::npos) << got.out;
  EXPECT_EQ(paste(unblock).exit_code, 0) << unblock;  // A9
  await_card(id, "merged");
  EXPECT_EQ(merged_agents_file(), agents_file_of_base);
}

TEST_F(ChangedChecks, ThePolicyAllowsThem) {  // A7
  put("## Synthesizer\n- checksChanged: allow\n");
  const std::string id = submit("Extend the checks");
  await_card(id, "merged");
  EXPECT_EQ(card(id).at("checks_changed"), json::array({"AGENTS.md"}));
  EXPECT_NE(merged_agents_file(), agents_file_of_base);
}

}  // namespace
}  // namespace signalbox
