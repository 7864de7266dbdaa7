// One night with the real server: cards of three projects and agents that succeed, fail, hang,
// print too much, leave processes and changes behind, or meet a usage limit. The server is killed
// five times, its clock is set forward once, and it is stopped once for longer than any lease. In
// the morning each card is in its column with its reason, each agent ran as often as it should
// have, and the remotes hold the verified work and nothing else. H1-H9, H11
#include <gtest/gtest.h>

#include <signal.h>

#include <map>
#include <set>

#include "tests/crash/fake_wall_clock.h"
#include "tests/fixtures/git_repository.h"
#include "tests/scenarios/cli_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// Lease of what outside clients hold while the server is stopped.
constexpr std::int64_t outside_lease_ms = test::slowness > 1 ? 6000 : 3000;

constexpr const char* settings = R"(
watchdog_interval = "500ms"
[board]
heartbeat = "1s"
synthesizer = "1s"
prune = "1s"
prune_after = "1s"
time_zone = "UTC"
)";

// The agent. The first word of the card's title says what it does. It records each of its runs.
constexpr const char* agent = R"sh(#!/bin/sh
# A coding agent's last word, where it is asked for as one.
tell() {
  case "$*" in
    *stream-json*) echo '{"type":"result","subtype":"success","is_error":false,"result":"done"}' ;;
  esac
}
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
  # From the first commit, so that it conflicts with the other one however late it begins.
  conflict) git checkout --quiet --detach "$(git rev-list --max-parents=0 HEAD)"
    sleep 2; echo "$file" > shared.txt ;;
  limited)
    if test "$(wc -l < "$LEDGER/$file")" = 1; then
      until=$(($(date +%s) + 4))
      echo '{"type":"result","is_error":true,"result":"usage limit reached|'$until'"}'
      exit 1
    fi
    echo "$file" > "$file.txt" ;;
esac
tell "$@"
)sh";

class Overnight : public CliTest {
 protected:
  Overnight() : CliTest(std::vector<std::string>{}) {}
  void SetUp() override {
    ASSERT_TRUE(wall_clock_.available()) << "libfaketime is missing: tools/packages faketime";
    std::ofstream(scratch_.path() / "agent") << agent;
    fs::permissions(scratch_.path() / "agent", fs::perms::owner_all);
    fs::create_directories(ledger());
    fs::create_directories(server_.data());
    std::ofstream(server_.data() / "signalbox.toml") << settings;
    std::ofstream(pipeline()) << worker_pipeline;
    for (const char* name : {"site", "api", "tool"}) make_project(name);
    start();
    for (const char* name : {"site", "api", "tool"}) put(name);
  }

  void start() {
    wall_clock_.over([this] { server_.start(); });
  }

  [[nodiscard]] fs::path ledger() const { return scratch_.path() / "ledger"; }
  [[nodiscard]] fs::path repository(const std::string& name) const {
    return scratch_.path() / name;
  }

  std::string lines(const std::string& script) const {
    const Output output = shell(script);
    EXPECT_EQ(output.exit_code, 0) << script << "\n" << output.err;
    return output.out;
  }

  void make_project(const std::string& name) const {
    make_repository(repository(name), {{"shared.txt", "one\n"},
                                       {"HEARTBEAT.md",
                                        "## Constraints\n- maxConcurrentAgents: 3\n"
                                        "- maxConcurrentAgentsPerProject: 2\n- maxAttempts: 1\n"}});
    make_remote(repository(name), scratch_.path() / (name + ".git"));
    set_identity(repository(name));
  }

  void put(const std::string& name) const {
    const json::object once{{"max_retries", 0}};
    json::object implement{{"name", "implement"},
                           {"executor", "process"},
                           {"timeout", "20s"},
                           {"command", json::array{"env", "LEDGER=" + ledger().string(),
                                                   (scratch_.path() / "agent").string()}},
                           {"retry", once}};
    if (name == "tool") {  // coding agents, which report usage limits
      implement["executor"] = "coderunner";
      implement["coderunner"] = {{"agent", "claude"}, {"mode", "process"}};
    }
    const json::array stations{
        json::object{{"name", "intake"}, {"executor", "builtin"}}, implement,
        json::object{{"name", "verify"},
                     {"executor", "checks"},
                     {"checks", json::array{json::object{
                                    {"name", "nothing bad"},
                                    {"command", json::array{"sh", "-c", "! test -e bad.txt"}}}}},
                     {"retry", once}},
        json::object{{"name", "create_pr"}, {"executor", "builtin"}}};
    (void)rpc("project.put",
              {{"name", name},
               {"repository", repository(name).string()},
               {"base", "main"},
               {"remote", "origin"},
               {"pipeline", json::object{{"name", "night"}, {"station", stations}}}});
  }

  std::string submit(const std::string& project, const std::string& title) {
    return text(rpc("card.submit", {{"project", project}, {"title", title}}), "card_id");
  }
  [[nodiscard]] json::object card(const std::string& id) const {
    return rpc("card.get", {{"card_id", id}}).at("card").as_object();
  }
  [[nodiscard]] std::size_t times_run(const std::string& title) const {
    std::string file = title;
    for (char& each : file) each = each == ' ' ? '-' : each;
    return lines_of(ledger() / file).size();
  }

  // Returns how many clock jumps with this cause were recorded.
  [[nodiscard]] std::int64_t jumps(const std::string& cause) const {
    std::int64_t count = 0;
    for (const json::value& each : all_events("ClockJumped"))
      count += each.at("data").at("cause") == json::value(cause);
    return count;
  }
  // Returns how many events of a type concern the loop or lock with this name.
  [[nodiscard]] std::int64_t count_of(const std::string& name, const std::string& type) const {
    std::int64_t count = 0;
    for (const json::value& each : all_events(type)) {
      count += text(each.as_object(), "stream").ends_with("/" + name);
    }
    return count;
  }
  // Expects the second attempt, in the same session, to begin when the limit was over. The first
  // one isn't a failure.
  void expect_a_limit_is_waited_for(const std::string& run) const {
    const json::array failed = events(run, "StationAttemptFailed");
    EXPECT_TRUE(failed.empty()) << json::serialize(failed);
    const json::array waits = events(run, "StationDeferred");
    ASSERT_EQ(waits.size(), 1U);
    EXPECT_EQ(waits[0].at("data").at("reason"), "quota") << json::serialize(waits);
  }

  // A lock, a tick and a claim of outside clients, each with a lease of `lease_ms`.
  struct Leases {
    json::object lock, tick, claim;
  };
  [[nodiscard]] Leases take_leases(std::int64_t lease_ms) const {
    Leases held;
    held.lock =
        rpc("lock.acquire", {{"key", "deploy"}, {"owner", "night"}, {"lease_ms", lease_ms}});
    held.tick = rpc("tick.begin", {{"loop", "outside"}, {"reason", "due"}, {"lease_ms", lease_ms}});
    const std::string run = start_run("work of an outside worker");
    held.claim = rpc("station.claim", {{"worker", "w"}, {"run_id", run}, {"lease_ms", lease_ms}})
                     .at("claim")
                     .as_object();
    return held;
  }
  // Ends all three by their holders, with their tokens.
  void give_back(const Leases& held) const {
    EXPECT_TRUE(rpc("lock.release", {{"key", "deploy"}, {"token", held.lock.at("token")}})
                    .at("released")
                    .as_bool());
    (void)rpc("tick.end",
              {{"loop", "outside"}, {"token", held.tick.at("token")}, {"outcome", "succeeded"}});
    json::object done{{"outcome", "succeeded"}};
    for (const char* field : {"run_id", "station", "token"}) done[field] = held.claim.at(field);
    (void)rpc("station.complete", done);
    (void)rpc("run.cancel", {{"run_id", held.claim.at("run_id")}});
  }

  const test::FakeWallClock wall_clock_{scratch_.path()};
};

TEST_F(Overnight, InTheMorningEveryCardIsWhereItBelongs) {  // T9, H1, H6, H7, H11
  struct Night {
    std::string project, title, column, code;
    std::size_t runs = 1;  // of the card's agent
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
      {"tool", "limited work", "merged", "", 2},
      {"tool", "unverified work", "failed", "CHECKS_FAILED"},
      {"tool", "dirty worktree", "merged", ""},
      {"tool", "conflict left", "", ""},
      {"tool", "conflict right", "", ""},
  };
  std::map<std::string, std::string> ids;
  for (const Night& each : night) ids[each.title] = submit(each.project, each.title);

  // The server is killed five times meanwhile.
  for (int death = 0; death < 5; ++death) {
    std::this_thread::sleep_for(std::chrono::milliseconds(700 + 350 * death));
    server_.kill();
    start();
  }
  // The card that met a usage limit goes on by itself when the limit is over.
  await([&] { return times_run("limited work") == 2; });
  // The wall clock is set: no lease and no agent ends because of it.
  wall_clock_.set("+1h");
  await([&] { return jumps("wall clock set") == 1; });
  // The server is stopped for longer than any lease: holders that couldn't reach it lose nothing.
  const Leases held = take_leases(outside_lease_ms);
  ASSERT_EQ(::kill(server_.pid(), SIGSTOP), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(2 * outside_lease_ms));
  ASSERT_EQ(::kill(server_.pid(), SIGCONT), 0);
  give_back(held);
  EXPECT_GE(jumps("stopped"), 1);

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
    EXPECT_EQ(times_run(each.title), each.runs) << "no agent ran twice for one attempt";
  }
  EXPECT_EQ(conflicting, (std::set<std::string>{"merged", "failedMERGE_CONFLICT"}));

  expect_a_limit_is_waited_for(text(card(ids.at("limited work")), "run_id"));
  for (const char* none : {"LockExpired", "TickTimedOut", "TickIncompleteDetected"}) {
    EXPECT_EQ(count_of("outside", none) + count_of("deploy", none), 0) << none;
  }
  EXPECT_EQ(jumps("wall clock set"), 1);

  // The remotes hold the verified work and nothing else, and nothing is left over. H6, H7, H11
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

  const auto status = result({"status"});
  server_.kill();
  EXPECT_EQ(result({"replay", "--to", json::serialize(status.at("position"))}).at("state_digest"),
            status.at("state_digest"));
}

}  // namespace
}  // namespace signalbox
