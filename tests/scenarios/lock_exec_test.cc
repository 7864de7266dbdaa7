// `signalbox lock exec`: a real command under a real lock, and everything that can go wrong
// meanwhile.
#include <algorithm>
#include <numeric>

#include "server/text/time_text.h"
#include "tests/scenarios/lock_fixture.h"
#include "tests/scenarios/on_terminal.h"

namespace signalbox {
namespace {

TEST_F(LockCliTest, ExecRunsTheCommandWithItsTokenAndReleases) {  // L7
  const Output ran = exec({"--owner", "me", "--reason", "why not"},
                          {"sh", "-c",
                           "echo $SIGNALBOX_LOCK_KEY $SIGNALBOX_TOKEN; " SIGNALBOX_BINARY
                           " lock get deploy | grep -e owner -e reason; exit 7"});
  EXPECT_EQ(ran.exit_code, 7) << ran.err;
  EXPECT_EQ(ran.err, "");
  const std::string granted =
      boost::json::serialize(result({"lock", "get", "deploy"}).at("last").at("token"));
  EXPECT_TRUE(ran.out.starts_with("deploy " + granted + "\n")) << ran.out;
  EXPECT_NE(ran.out.find("me\n"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("why not\n"), std::string::npos) << ran.out;
  EXPECT_EQ(events_of_lock(), (std::vector<std::string>{"LockAcquired", "LockReleased"}));
}

TEST_F(LockCliTest, ExecPassesTheWordsOfItsCommandAsTheyAre) {
  const Output ran = exec({}, {"printf", "%s|", "[a,b]", "--json", "--", "run list", "", "lock",
                               "exec", "--owner", "x"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out, "[a,b]|--json|--|run list||lock|exec|--owner|x|");
}

TEST_F(LockCliTest, ExecGivesACommandThatWasKilledAs128AndTheSignal) {  // L7
  EXPECT_EQ(exec({}, {"sh", "-c", "kill -9 $$"}).exit_code, 137);
  EXPECT_EQ(holder(), "");
}

TEST_F(LockCliTest, ExecOfWhatCantBeRunReleasesAndSaysSo) {
  const Output missing = exec({}, {"/not/there"});
  EXPECT_EQ(missing.exit_code, 127);
  EXPECT_NE(missing.err.find("can't run /not/there"), std::string::npos) << missing.err;
  EXPECT_EQ(exec({}, {"/etc"}).exit_code, 126);
  EXPECT_EQ(holder(), "");
}

TEST_F(LockCliTest, ExecIsRefusedWhileAnotherHolds) {  // L2
  result({"lock", "acquire", "deploy", "--owner", "ann", "--reason", "release 1.4"});
  const Output refused = exec({}, {"touch", path_of("ran")});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.err.find("ann holds deploy"), std::string::npos) << refused.err;
  EXPECT_NE(
      refused.err.find("try: signalbox --data " + server_.data().string() + " lock get deploy"),
      std::string::npos)
      << refused.err;
  EXPECT_FALSE(std::filesystem::exists(path_of("ran")));
  EXPECT_EQ(exec({"--conflict-exit-code", "99"}, {"true"}).exit_code, 99);
  EXPECT_EQ(exec({"--json"}, {"true"}).exit_code, 1);
  EXPECT_TRUE(one_object(exec({"--json"}, {"true"})).contains("error"));
}

// Stopped, it would beat no more, and the command go on beside the lock's next holder.
TEST_F(LockCliTest, ExecIsNotStopped) {  // L7
  const auto held = start_exec("held", {"--lease-ms", "60000", "--interval-ms", "25"},
                               {"sh", "-c",
                                "touch '" + path_of("begun") + "'; while [ ! -e '" + path_of("go") +
                                    "' ]; do sleep 0.02; done"});
  await([this] { return std::filesystem::exists(path_of("begun")); });
  const auto expires_at = [this] {
    return text(rpc("lock.get", {{"key", "deploy"}}).at("lock").as_object(), "expires_at");
  };
  for (const int signal : {SIGTSTP, SIGTTIN, SIGTTOU}) held->send(signal);
  const std::string before = expires_at();
  ASSERT_TRUE(eventually([&] { return expires_at() != before; })) << "it beats no more";
  go();
  EXPECT_EQ(held->wait(), 0) << held->err();
}

// As ssh and sudo do it, whatever their input is.
TEST_F(LockCliTest, ExecGivesTheTerminalToACommandThatAsksOnIt) {  // L7
  const Output asked =
      on_terminal(SIGNALBOX_BINARY " lock exec deploy --data " + server_.data().string() +
                      " -- sh -c 'read answer </dev/tty; echo it was asked'"
                      " </dev/null",
                  {});
  EXPECT_NE(asked.out.find("it was asked"), std::string::npos) << asked.out;
  EXPECT_EQ(holder(), "");
}

// A second command of the same owner would be granted the first one's hold and run at the same
// time.
TEST_F(LockCliTest, ExecDoesntRunBesideAnotherOfTheSameName) {  // L2, L7
  const std::string until_go = "while [ ! -e '" + path_of("go") + "' ]; do sleep 0.02; done";
  const auto first =
      start_exec("first", {"--owner", "ci", "--lease-ms", "60000"},
                 {"sh", "-c", until_go + "; echo first >> '" + path_of("order") + "'"});
  ASSERT_TRUE(eventually([this] { return holder() == "ci"; }));
  const Output refused =
      exec({"--owner", "ci", "--lease-ms", "1000"}, {"touch", path_of("beside")});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.err.find("ci holds deploy already"), std::string::npos) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(path_of("beside")));
  EXPECT_EQ(events_of_lock(), std::vector<std::string>{"LockAcquired"}) << "its lease is as it was";
  EXPECT_EQ(exec({"--owner", "ci", "-E", "99"}, {"true"}).exit_code, 99);
  const auto second = start_exec("second", {"--owner", "ci", "--wait-ms", "60000"},
                                 {"sh", "-c", "echo second >> '" + path_of("order") + "'"});
  ASSERT_TRUE(eventually([this] { return waiters() == 1; }));
  go();
  EXPECT_EQ(first->wait(), 0);
  EXPECT_EQ(second->wait(), 0);
  EXPECT_EQ(content_of(path_of("order")), "first\nsecond\n");
}

TEST_F(LockCliTest, ExecMayBeToldToShareAHold) {
  result({"lock", "acquire", "deploy", "--owner", "ci"});
  EXPECT_EQ(exec({"--owner", "ci", "--extend"}, {"touch", path_of("beside")}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(path_of("beside")));
}

TEST_F(LockCliTest, ExecWaitsItsTurn) {
  const auto first = start_exec("first", {}, until_go());
  ASSERT_TRUE(eventually([this] { return !holder().empty(); }));
  const std::string order = "echo $0 >> '" + path_of("order") + "'";
  std::vector<std::unique_ptr<BackgroundCommand>> waiting;
  for (int number = 0; number < 4; ++number) {
    const std::string name = std::to_string(number);
    waiting.push_back(
        start_exec("waits-" + name, {"--wait-ms", "60000"}, {"sh", "-c", order, name}));
    ASSERT_TRUE(eventually([&] { return waiters() == number + 1; }));
  }
  // A killed waiter loses its place in the queue.
  waiting[1]->send(SIGKILL);
  EXPECT_EQ(waiting[1]->wait(), 137);
  ASSERT_TRUE(eventually([&] { return !is_alive(waiting[1]->pid()); }));
  go();
  EXPECT_EQ(first->wait(), 0);
  for (const int number : {0, 2, 3})
    EXPECT_EQ(waiting[static_cast<std::size_t>(number)]->wait(), 0);
  EXPECT_EQ(content_of(path_of("order")), "0\n2\n3\n");
}

TEST_F(LockCliTest, ExecBeatsEvery25Milliseconds) {  // L7
  const auto begun = std::chrono::steady_clock::now();
  const auto running =
      start_exec("exec", {"--lease-ms", "20000", "--interval-ms", "25"}, until_go());
  const auto beats = [this] {
    const auto events = events_of_lock();
    return std::count(events.begin(), events.end(), "LockRefreshed");
  };
  ASSERT_TRUE(eventually([&] { return beats() >= 10; }));
  go();
  EXPECT_EQ(running->wait(), 0) << running->err();
  EXPECT_EQ(running->err(), "");
  // A busy machine may send heartbeats late, but never too early.
  EXPECT_LE(beats(), (std::chrono::steady_clock::now() - begun) / std::chrono::milliseconds(25));
  // Nor so late that the pauses have nothing to do with the interval; the longest may be any.
  std::vector<std::int64_t> times_ns;
  const auto page = result({"events", "--limit", "1000", "--type", "LockRefreshed"});
  for (const auto& event : page.at("events").as_array()) {
    times_ns.push_back(parse_time(event.at("recorded_at").as_string()).value_or(0));
  }
  std::vector<std::int64_t> pauses_ns(times_ns.size());
  std::adjacent_difference(times_ns.begin(), times_ns.end(), pauses_ns.begin());
  ASSERT_GE(pauses_ns.size(), 10U);
  std::sort(pauses_ns.begin() + 1, pauses_ns.end());  // the first is no difference
  EXPECT_LT(pauses_ns[pauses_ns.size() / 2], test::slowness * 10 * 25'000'000LL);
  EXPECT_EQ(events_of_lock().back(), "LockReleased");
}

TEST_F(LockCliTest, ExecHoldsForLongerThanItsLease) {  // L7
  // A beat waits for a part of the lease, and on a busy machine an answer takes a second.
  constexpr std::int64_t lease_ms = 3 * short_lease_ms;
  const auto running =
      start_exec("exec", {"--owner", "me", "--lease-ms", std::to_string(lease_ms)}, until_go());
  ASSERT_TRUE(eventually([this] { return holder() == "me"; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(2 * lease_ms));
  go();
  EXPECT_EQ(running->wait(), 0) << running->err();
  const auto events = events_of_lock();
  EXPECT_EQ(std::count(events.begin(), events.end(), "LockExpired"), 0);
}

// Returns a command that ignores TERM and writes its pid and that of a child in the background.
std::vector<std::string> stubborn(const std::string& pids) {
  return {"sh", "-c",
          "trap '' TERM; sleep 600 & echo $! > '" + pids + ".child'; echo $$ > '" + pids +
              "'; wait; sleep 600"};
}

TEST_F(LockCliTest, ExecEndsItsCommandWhenTheLockIsLost) {  // L7
  const auto running = start_exec(
      "exec", {"--json", "--lease-ms", "60000", "--interval-ms", "50", "--kill-grace-ms", "100"},
      stubborn(path_of("pid")));
  const pid_t pid = pid_in("pid");
  const pid_t grandchild = pid_in("pid.child");
  const auto lock = result({"lock", "get", "deploy"}).at("lock").as_object();
  result({"lock", "release", "deploy", "--token", token_of(lock)});
  EXPECT_EQ(running->wait(), 75);
  EXPECT_FALSE(is_alive(pid));
  EXPECT_TRUE(eventually([&] { return !is_alive(grandchild); }));
  const auto reported = failures(running->err());
  ASSERT_EQ(reported.size(), 1U) << running->err();
  EXPECT_EQ(reported[0].at("code"), "LOCK_NOT_OWNED");
  EXPECT_TRUE(reported[0].at("message").is_string());
  EXPECT_EQ(reported[0].at("details").at("owner"), lock.at("owner"));
  EXPECT_EQ(reported[0].at("details").at("current_owner"), "");
}

TEST_F(LockCliTest, ExecTellsEveryFailureUpToTheLast) {  // L7
  const auto running = start_exec(
      "exec", {"--json", "--max-failures", "3.9", "--lease-ms", "60000", "--interval-ms", "25"},
      noted_sleep());
  await_noted_sleep();
  server_.kill();
  EXPECT_EQ(running->wait(), 75);
  const auto reported = failures(running->err());
  ASSERT_EQ(reported.size(), 3U) << running->err();
  for (const auto& each : reported) EXPECT_EQ(each.at("code"), "NOT_REACHABLE");
}

TEST_F(LockCliTest, ExecTakesWhatIsNoNumberOfFailuresForOne) {  // L7
  for (const char* number : {"0", "-5", "many", "", "NaN", "1e999"}) {
    const auto running = start_exec(
        std::string("exec") + number,
        {"--max-failures", number, "--lease-ms", "60000", "--interval-ms", "25"}, {"sleep", "600"});
    ASSERT_TRUE(eventually([this] { return !holder().empty(); })) << running->err();
    const auto lock = result({"lock", "get", "deploy"}).at("lock").as_object();
    result({"lock", "release", "deploy", "--token", token_of(lock)});
    EXPECT_EQ(running->wait(), 75) << number;
    const std::string err = running->err();
    EXPECT_NE(err.find("heartbeat failed (1 of 1)"), std::string::npos) << number << ": " << err;
    EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 1) << err;
  }
}

TEST_F(LockCliTest, ExecNoticesAServerThatSaysNothingBeforeItsLeaseIsOver) {  // L7
  constexpr std::int64_t lease_ms = 5 * short_lease_ms;
  const auto running =
      start_exec("exec", {"--json", "--lease-ms", std::to_string(lease_ms), "--interval-ms", "100"},
                 noted_sleep());
  await_noted_sleep();
  const auto stopped_at = std::chrono::steady_clock::now();
  ::kill(server_.pid(), SIGSTOP);
  EXPECT_EQ(running->wait(), 75);
  EXPECT_LT(std::chrono::steady_clock::now() - stopped_at, std::chrono::milliseconds(lease_ms));
  ::kill(server_.pid(), SIGCONT);
  const auto reported = failures(running->err());
  ASSERT_EQ(reported.size(), 1U) << running->err();
  EXPECT_EQ(reported[0].at("code"), "TIMED_OUT");
}

TEST_F(LockCliTest, ExecOutlivesARestartOfTheServer) {
  const auto running = start_exec(
      "exec",
      {"--owner", "me", "--max-failures", "1e6", "--lease-ms", "20000", "--interval-ms", "50"},
      until_go());
  ASSERT_TRUE(eventually([this] { return holder() == "me"; }));
  const auto token = result({"lock", "get", "deploy"}).at("lock").at("token");
  server_.kill();
  server_.start();
  const auto refreshes = [this] {
    const auto events = events_of_lock();
    return std::count(events.begin(), events.end(), "LockRefreshed");
  };
  const auto before = refreshes();
  EXPECT_TRUE(eventually([&] { return refreshes() > before; })) << running->err();
  EXPECT_EQ(result({"lock", "get", "deploy"}).at("lock").at("token"), token);
  go();
  EXPECT_EQ(running->wait(), 0) << running->err();
  EXPECT_EQ(holder(), "");
}

TEST_F(LockCliTest, ExecPassesSignalsOnAndReleases) {  // L7
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    const std::string name = "ready" + std::to_string(signal);
    const auto running = start_exec("exec" + name, {},
                                    {"sh", "-c",
                                     "trap 'exit 33' TERM INT HUP; echo $$ > '" + path_of(name) +
                                         "'; while :; do sleep 0.02; done"});
    (void)pid_in(name);
    running->send(signal);
    EXPECT_EQ(running->wait(), 33) << signal << running->err();
    EXPECT_EQ(holder(), "");
  }
  const auto running = start_exec(
      "plain", {}, {"sh", "-c", "echo $$ > '" + path_of("plain.pid") + "'; exec sleep 600"});
  (void)pid_in("plain.pid");
  running->send(SIGTERM);
  EXPECT_EQ(running->wait(), 143);
  EXPECT_EQ(holder(), "");
}

TEST_F(LockCliTest, ExecThatIsKilledTakesItsCommandWithIt) {  // L7
  const auto running =
      start_exec("exec", {"--lease-ms", std::to_string(short_lease_ms), "--kill-grace-ms", "100"},
                 stubborn(path_of("pid")));
  const pid_t pid = pid_in("pid");
  const pid_t grandchild = pid_in("pid.child");
  running->send(SIGKILL);
  EXPECT_EQ(running->wait(), 137);
  EXPECT_TRUE(eventually([&] { return !is_alive(pid) && !is_alive(grandchild); }));
  EXPECT_TRUE(eventually([this] { return holder().empty(); }));
}

// Between the forks of the command and of its guardian, which strace delays, nothing could end the
// command. So the command must not have begun.
TEST_F(LockCliTest, ExecThatIsKilledAsItStartsLeavesNoCommand) {  // L7
  std::vector<std::string> words =
      exec_words({"--lease-ms", std::to_string(short_lease_ms), "--kill-grace-ms", "100"},
                 stubborn(path_of("pid")));
  words.insert(words.begin(), {"strace", "-D", "-q", "-o", path_of("trace"), "-e", "trace=clone",
                               "-e", "inject=clone:delay_enter=20000000:when=2"});
  const auto running =
      std::make_unique<BackgroundCommand>(std::move(words), scratch_.path() / "exec");
  const auto forks = [this] {
    const std::string trace = content_of(path_of("trace"));
    return std::count(trace.begin(), trace.end(), '\n');
  };
  ASSERT_TRUE(eventually([&] { return forks() >= 1; })) << running->err();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // enough to write its pid
  running->send(SIGKILL);
  EXPECT_EQ(running->wait(), 137);
  EXPECT_TRUE(eventually([this] { return holder().empty(); }));
  EXPECT_FALSE(std::filesystem::exists(path_of("pid"))) << "began without a guardian";
}

TEST_F(LockCliTest, ExecSaysSoWhenTheLockWasntHeldAtTheEnd) {
  const Output ran = exec({"--json", "--lease-ms", "60000"},
                          {"sh", "-c", SIGNALBOX_BINARY " lock release deploy"});
  EXPECT_EQ(ran.exit_code, 75);
  const auto reported = failures(ran.err);
  ASSERT_EQ(reported.size(), 1U);
  EXPECT_EQ(reported[0].at("code"), "LOCK_NOT_OWNED");
}

TEST_F(LockCliTest, ExecWithoutACommandOrWithABadIntervalIsAMistake) {
  EXPECT_EQ(server_.cli({"lock", "exec", "deploy"}).exit_code, 2);
  EXPECT_EQ(exec({}, {}).exit_code, 2);
  EXPECT_EQ(exec({"--lease-ms", "100", "--interval-ms", "100"}, {"true"}).exit_code, 2);
  EXPECT_EQ(exec({"--interval-ms", "0"}, {"true"}).exit_code, 2);
  EXPECT_EQ(exec({"--lease-ms", "1"}, {"true"}).exit_code, 2);
  EXPECT_EQ(exec({"--wait-ms", "-1"}, {"true"}).exit_code, 2) << "as of lock acquire";
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"make"}, {"ls", "-l"}, {}}) {
    std::vector<std::string> words{"lock", "exec", "deploy"};
    words.insert(words.end(), command.begin(), command.end());
    const Output refused = server_.cli(words);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_NE(refused.err.find("after --"), std::string::npos) << refused.err;
  }
  EXPECT_TRUE(events_of_lock().empty());
}

}  // namespace
}  // namespace signalbox
