// One night: cards of three projects, agents that do well, fail, hang, flood, leave processes and
// dirt behind or run into a limit; the server killed five times and stopped once for longer than
// any lease. In the morning each card is in its column with its reason, each agent ran as often as
// it should have, and the remotes hold what was verified and nothing else. H1-H9, H11
#include <gtest/gtest.h>

#include <signal.h>

#include <map>
#include <set>

#include "tests/scenarios/cli_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr const char* settings = R"(
watchdog_interval = "500ms"
[board]
heartbeat = "1s"
synthesizer = "1s"
prune = "1s"
prune_after = "1s"
time_zone = "UTC"
)";

// The agent: what it does is the first word of the card's title. It notes that it ran.
constexpr const char* agent = R"(#!/bin/sh
word=${SIGNALBOX_GOAL%% *}
file=$(printf '%s' "$SIGNALBOX_GOAL" | head -1 | tr ' ' '-')
echo "$SIGNALBOX_RUN_ID $SIGNALBOX_ATTEMPT" >> "$LEDGER/$file"
case $word in
  good) sleep 0.3; echo "$file" > "$file.txt" ;;
  slow) sleep 3; echo "$file" > "$file.txt" ;;
  fails) echo broken > broken.txt; exit 1 ;;
  unverified) echo bad > bad.txt ;;
  hangs) sleep 600 ;;
  floods) head -c 3000000 /dev/zero | tr '\0' 'x'; echo "$file" > "$file.txt" ;;
  leaves) setsid sleep 600 & echo $! > "$LEDGER/left.pid"; echo "$file" > "$file.txt" ;;
  dirty) echo "$file" > "$file.txt"; git add .; git -c user.name=a -c user.email=a@localhost commit -qm "$file"; echo rest > rest.txt ;;
  conflict) sleep 2; echo "$file" > shared.txt ;;
esac
)";

class Overnight : public CliTest {
 protected:
  void SetUp() override {
    std::ofstream(scratch_.path() / "agent") << agent;
    fs::permissions(scratch_.path() / "agent", fs::perms::owner_all);
    fs::create_directories(ledger());
    fs::create_directories(server_.data());
    std::ofstream(server_.data() / "signalbox.toml") << settings;
    for (const char* name : {"site", "api", "tool"}) make_repository(name);
    server_.start();
    for (const char* name : {"site", "api", "tool"}) put(name);
  }

  [[nodiscard]] fs::path ledger() const { return scratch_.path() / "ledger"; }
  [[nodiscard]] fs::path repository(const std::string& name) const {
    return scratch_.path() / name;
  }

  Output shell(const std::string& script) const {
    return run_process({"sh", "-c", "cd '" + scratch_.path().string() + "' && " + script});
  }
  std::string lines(const std::string& script) const {
    const Output output = shell(script);
    EXPECT_EQ(output.exit_code, 0) << script << "\n" << output.err;
    return output.out;
  }

  void make_repository(const std::string& name) const {
    lines(
        "git init -q -b main " + name + " && cd " + name +
        " && git config user.name t && git config user.email t@localhost && echo one > shared.txt"
        " && printf '## Constraints\\n- maxConcurrentAgents: 3\\n- maxConcurrentAgentsPerProject: "
        "2\\n- maxAttempts: 1\\n' > HEARTBEAT.md && git add . && git commit -qm first && "
        "git clone -q --bare . ../" +
        name + ".git && git remote add origin ../" + name + ".git && git remote set-url origin '" +
        (scratch_.path() / (name + ".git")).string() + "'");
  }

  json::object call(const std::string& method, const json::object& params) const {
    return result({"rpc", method, json::serialize(params)});
  }

  void put(const std::string& name) const {
    const json::object once{{"max_retries", 0}};
    const json::array stations{
        json::object{{"name", "intake"}, {"executor", "builtin"}},
        json::object{{"name", "implement"},
                     {"executor", "process"},
                     {"timeout", "20s"},
                     {"command", json::array{"env", "LEDGER=" + ledger().string(),
                                             (scratch_.path() / "agent").string()}},
                     {"retry", once}},
        json::object{{"name", "verify"},
                     {"executor", "checks"},
                     {"checks", json::array{json::object{
                                    {"name", "nothing bad"},
                                    {"command", json::array{"sh", "-c", "! test -e bad.txt"}}}}},
                     {"retry", once}},
        json::object{{"name", "create_pr"}, {"executor", "builtin"}}};
    (void)call("project.put",
               {{"name", name},
                {"repository", repository(name).string()},
                {"base", "main"},
                {"remote", "origin"},
                {"pipeline", json::object{{"name", "night"}, {"station", stations}}}});
  }

  std::string submit(const std::string& project, const std::string& title) {
    return text(call("card.submit", {{"project", project}, {"title", title}}), "card_id");
  }
  [[nodiscard]] json::object card(const std::string& id) const {
    return call("card.get", {{"card_id", id}}).at("card").as_object();
  }
  [[nodiscard]] std::size_t times_run(const std::string& title) const {
    std::string file = title;
    for (char& each : file) each = each == ' ' ? '-' : each;
    std::ifstream in(ledger() / file);
    std::size_t count = 0;
    for (std::string line; std::getline(in, line);) ++count;
    return count;
  }
};

TEST_F(Overnight, InTheMorningEveryCardIsWhereItBelongs) {
  struct Night {
    std::string project, title, column, code;
  };
  const std::vector<Night> night = {
      {"site", "good one", "merged", ""},
      {"site", "fails at once", "failed", "EXIT_NONZERO"},
      {"site", "leaves a process", "merged", ""},
      {"site", "good four", "merged", ""},
      {"api", "slow work", "merged", ""},
      {"api", "hangs for ever", "failed", "TIMEOUT"},
      {"api", "floods the log", "merged", ""},
      {"api", "good two", "merged", ""},
      {"tool", "unverified work", "failed", "CHECKS_FAILED"},
      {"tool", "dirty worktree", "merged", ""},
      {"tool", "conflict left", "", ""},
      {"tool", "conflict right", "", ""},
  };
  std::map<std::string, std::string> ids;
  for (const Night& each : night) ids[each.title] = submit(each.project, each.title);

  // The server dies five times, and is stopped once, while all this goes on.
  for (int death = 0; death < 5; ++death) {
    std::this_thread::sleep_for(std::chrono::milliseconds(700 + 350 * death));
    server_.kill();
    server_.start();
  }
  ASSERT_EQ(::kill(server_.pid(), SIGSTOP), 0);
  std::this_thread::sleep_for(std::chrono::seconds(3));
  ASSERT_EQ(::kill(server_.pid(), SIGCONT), 0);

  std::map<std::string, std::size_t> merged;  // by project
  std::set<std::string> conflicting;
  for (const Night& each : night) {
    SCOPED_TRACE(each.title);
    const std::string id = ids.at(each.title);
    await([&] {
      const std::string status = text(card(id), "status");
      return status == "merged" || status == "failed" || status == "blocked";
    });
    const json::object shown = card(id);
    const std::string status = text(shown, "status");
    if (each.column.empty()) {
      conflicting.insert(status + text(shown, "code"));
    } else {
      EXPECT_EQ(status, each.column) << json::serialize(shown);
      EXPECT_EQ(text(shown, "code"), each.code) << json::serialize(shown);
    }
    if (status == "merged") ++merged[each.project];
    EXPECT_EQ(times_run(each.title), 1U) << "each agent ran once";
  }
  EXPECT_EQ(conflicting, (std::set<std::string>{"merged", "blockedMERGE_CONFLICT"}));

  // The remotes hold the verified work and nothing else; nothing is left over. H6, H7, H11
  for (const char* name : {"site", "api", "tool"}) {
    SCOPED_TRACE(name);
    const std::string git = "git -C " + std::string(name) + ".git ";
    EXPECT_EQ(lines(git + "log --merges --format=%s main | wc -l"),
              std::to_string(merged[name]) + "\n");
    EXPECT_EQ(lines(git + "ls-tree --name-only main | grep -c 'bad.txt\\|broken.txt' || true"),
              "0\n");
    await([&] { return lines("git -C " + std::string(name) + " worktree list | wc -l") == "1\n"; });
  }
  std::ifstream left(ledger() / "left.pid");
  pid_t pid = 0;
  ASSERT_TRUE(left >> pid);
  EXPECT_NE(::kill(pid, 0), 0) << "what the agent left behind was ended";

  const std::string digest = text(result({"status"}), "state_digest");
  server_.kill();
  EXPECT_EQ(text(result({"replay"}), "state_digest"), digest);
}

}  // namespace
}  // namespace signalbox
