// `lock.*`: who gets a lock, when, and what everybody else is told.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <boost/json/serialize.hpp>

#include "server/rpc/time_text.h"
#include "tests/server/executor_fixture.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class RpcLock : public ::testing::Test, protected RpcSite {
 protected:
  std::shared_ptr<ListeningPeer> send_from(const std::string& method, const std::string& params) {
    auto client = std::make_shared<ListeningPeer>();
    dispatcher.handle(
        R"({"jsonrpc":"2.0","id":1,"method":")" + method + R"(","params":)" + params + "}", "uid:1",
        client);
    return client;
  }
  std::shared_ptr<ListeningPeer> waiter(const std::string& owner, const std::string& more = {}) {
    return send_from("lock.acquire",
                     R"({"key":"deploy","wait_ms":60000,"owner":")" + owner + "\"" + more + "}");
  }
  json::object acquire(const std::string& owner, const std::string& more = {}) {
    return ask("lock.acquire",
               R"({"key":"deploy","lease_ms":1000,"owner":")" + owner + "\"" + more + "}");
  }
  json::object word(const std::string& method, std::uint64_t token, const std::string& more = {}) {
    return ask(method, R"({"key":"deploy","token":)" + std::to_string(token) + more + "}");
  }
  static std::uint64_t token_of(const json::object& answer) {
    return answer.at("result").at("token").to_number<std::uint64_t>();
  }
  static json::object details_of(const json::object& answer) {
    return answer.at("error").at("data").at("details").as_object();
  }
  // Turns and timers as the server has them.
  void serve() {
    locks.serve(clock.monotonic_ns());
    for (const Command& command : timers.take_due(engine.world(), clock.monotonic_ns())) {
      (void)engine.begin({"signalbox", {}, {}}).apply(command);
    }
    locks.serve(clock.monotonic_ns());
    commit_all();
  }
  // "ann" who got it, an error's code, or "waits".
  static std::string outcome(ListeningPeer& client) {
    if (client.lines.empty()) return "waits";
    const auto answer = client.next();
    if (answer.contains("error")) return code_of(answer);
    return std::string(answer.at("result").at("owner").as_string());
  }
  // Names of the events, commit by commit.
  std::vector<std::string> commits() const {
    std::vector<std::string> names;
    for (Position at = 1; at <= log.tail();) {
      const auto commit = log.read_commit(at);
      std::string line;
      for (const Record& record : *commit) {
        line += (line.empty() ? "" : " ") + std::string(tag_of(record.event).name);
      }
      names.push_back(line);
      at = commit->back().position + 1;
    }
    return names;
  }
};

TEST_F(RpcLock, IsGrantedAndTellsWhatWasGranted) {  // L1
  const auto answer = acquire("ann", R"(,"reason":"release 1.4")");
  const json::object& result = answer.at("result").as_object();
  EXPECT_EQ(result.at("key"), "deploy");
  EXPECT_EQ(result.at("owner"), "ann");
  EXPECT_EQ(result.at("token"), 1);
  EXPECT_EQ(result.at("lease_ms"), 1000);
  EXPECT_EQ(result.at("reason"), "release 1.4");
  EXPECT_EQ(result.at("expires_at"), json::value(format_time(clock.wall_ns() + 1'000'000'000)));
  EXPECT_EQ(commits(), (std::vector<std::string>{"LockAcquired"}));
}

TEST_F(RpcLock, HeldByAnotherTellsByWhomSinceWhenAndWhy) {  // L2
  acquire("ann", R"(,"reason":"release 1.4")");
  clock.advance_ms(400);
  const auto refused = acquire("bob");
  EXPECT_EQ(code_of(refused), "LOCK_HELD");
  EXPECT_EQ(details_of(refused),
            (json::object{{"key", "deploy"},
                          {"owner", "ann"},
                          {"token", 1},
                          {"reason", "release 1.4"},
                          {"expires_at", format_time(clock.wall_ns() + 600'000'000)},
                          {"acquired_at", format_time(clock.wall_ns() - 400'000'000)}}));
}

TEST_F(RpcLock, TheSameOwnerExtendsItsLeaseAndKeepsItsToken) {  // L2
  acquire("ann", R"(,"reason":"release 1.4")");
  clock.advance_ms(900);
  const auto again = acquire("ann");
  EXPECT_EQ(token_of(again), 1U);
  EXPECT_EQ(again.at("result").at("extended"), true);
  EXPECT_EQ(again.at("result").at("reason"), "release 1.4");
  clock.advance_ms(900);
  EXPECT_EQ(code_of(acquire("bob")), "LOCK_HELD");
  EXPECT_EQ(commits(), (std::vector<std::string>{"LockAcquired", "LockRefreshed"}));
}

TEST_F(RpcLock, IsTakenOverInOneCommitWhenItsLeaseIsOver) {  // L3
  acquire("ann");
  clock.advance_ms(1000);
  const auto taken = acquire("bob");
  EXPECT_EQ(token_of(taken), 3U);
  EXPECT_EQ(commits(), (std::vector<std::string>{"LockAcquired", "LockExpired LockAcquired"}));
  for (const char* method : {"lock.refresh", "lock.release"}) {
    const auto refused = word(method, 1);
    EXPECT_EQ(code_of(refused), "LOCK_NOT_OWNED") << method;
    EXPECT_EQ(details_of(refused), (json::object{{"key", "deploy"},
                                                 {"owner", "ann"},
                                                 {"token", 1},
                                                 {"current_owner", "bob"},
                                                 {"current_token", 3}}));
  }
}

TEST_F(RpcLock, AHolderWhoComesTooLateIsRefusedBeforeAnybodyTookItOver) {  // L9
  acquire("ann");
  clock.advance_ms(1000);
  const auto late = word("lock.refresh", 1);
  EXPECT_EQ(code_of(late), "LOCK_NOT_OWNED");
  EXPECT_EQ(details_of(late).at("owner"), "ann");
  EXPECT_EQ(details_of(late).at("current_owner"), "");
  EXPECT_EQ(commits(), (std::vector<std::string>{"LockAcquired", "LockExpired LockRefreshFailed"}));
  EXPECT_EQ(code_of(word("lock.release", 1)), "LOCK_NOT_OWNED");
}

TEST_F(RpcLock, ARefreshCountsFromNow) {  // L5
  acquire("ann");
  clock.advance_ms(900);
  const auto refreshed = word("lock.refresh", 1, R"(,"lease_ms":5000)");
  EXPECT_EQ(refreshed.at("result").at("expires_at"),
            json::value(format_time(clock.wall_ns() + 5'000'000'000)));
  clock.advance_ms(4999);
  EXPECT_EQ(code_of(acquire("bob")), "LOCK_HELD");
  clock.advance_ms(1);
  EXPECT_EQ(code_of(acquire("bob")), "");
}

TEST_F(RpcLock, AFailingStreakIsOneEvent) {  // L5
  acquire("ann");
  for (int count = 0; count < 20; ++count) {
    EXPECT_EQ(
        code_of(word("lock.refresh", 4711, R"(,"command_id":"c-)" + std::to_string(count) + "\"")),
        "LOCK_NOT_OWNED");
  }
  EXPECT_EQ(commits(), (std::vector<std::string>{"LockAcquired", "LockRefreshFailed"}));
}

TEST_F(RpcLock, ARefusalIsNotTheResultOfItsCommandId) {  // L5
  acquire("ann");
  const std::string params = R"({"key":"deploy","token":9,"command_id":"c"})";
  EXPECT_EQ(code_of(ask("lock.refresh", params)), "LOCK_NOT_OWNED");
  EXPECT_EQ(code_of(ask("lock.refresh", params)), "LOCK_NOT_OWNED") << "decided again";
}

TEST_F(RpcLock, TheLogTellsWhoseAnOldTokenWas) {  // L3
  acquire("ann");
  word("lock.release", 1);
  acquire("bob");
  word("lock.release", 3);
  acquire("eve");
  const auto refused = word("lock.refresh", 1);
  EXPECT_EQ(details_of(refused).at("owner"), "ann");
  EXPECT_EQ(details_of(refused).at("current_owner"), "eve");
  EXPECT_EQ(details_of(word("lock.refresh", 2)).at("owner"), "") << "no grant";
  EXPECT_EQ(details_of(word("lock.refresh", 4711)).at("owner"), "") << "beyond the log";
}

TEST_F(RpcLock, IsReleasedOnce) {  // L6
  acquire("ann");
  EXPECT_EQ(word("lock.release", 1).at("result").at("released"), true);
  EXPECT_EQ(word("lock.release", 1).at("result").at("released"), false);
  EXPECT_EQ(commits(), (std::vector<std::string>{"LockAcquired", "LockReleased"}));
}

TEST_F(RpcLock, ARepeatedCommandGetsTheFirstResult) {
  const std::string more = R"(,"reason":"r","command_id":"c-1")";
  auto first = acquire("ann", more);
  word("lock.release", 1, R"(,"command_id":"c-2")");
  acquire("bob");
  auto again = acquire("ann", more);
  EXPECT_EQ(again.at("result").at("replayed"), true);
  for (json::object* each : {&first, &again}) {
    (*each)["result"].as_object().erase("replayed");
    (*each)["result"].as_object().erase("position");
  }
  EXPECT_EQ(again, first);
  const auto released = word("lock.release", 1, R"(,"command_id":"c-2")");
  EXPECT_EQ(released.at("result").at("released"), true);
  EXPECT_EQ(released.at("result").at("replayed"), true);
}

TEST_F(RpcLock, WhoWaitsGetsItInTheOrderOfArrival) {
  acquire("ann");
  const auto bob = waiter("bob");
  const auto eve = waiter("eve");
  serve();
  EXPECT_EQ(outcome(*bob), "waits");
  EXPECT_EQ(locks.size(), 2U);
  // Whoever asks between the release and the next turn doesn't pass by.
  send(R"({"jsonrpc":"2.0","id":1,"method":"lock.release","params":{"key":"deploy","token":1}})");
  const auto pushing = send_from("lock.acquire", R"({"key":"deploy","owner":"max"})");
  serve();
  EXPECT_EQ(peer->next().at("result").at("released"), true);
  EXPECT_EQ(outcome(*pushing), "LOCK_HELD");
  const auto granted = bob->next();
  EXPECT_EQ(granted.at("result").at("owner"), "bob");
  EXPECT_EQ(outcome(*eve), "waits");
  word("lock.release", token_of(granted));
  serve();
  EXPECT_EQ(outcome(*eve), "eve");
  EXPECT_EQ(locks.size(), 0U);
}

TEST_F(RpcLock, WhoWaitsTakesOverInOneCommitAtTheEndOfTheLease) {  // L3
  acquire("ann");
  const auto bob = waiter("bob");
  EXPECT_EQ(locks.next_due_ns(), clock.monotonic_ns() + 1'000'000'000);
  clock.advance_ms(999);
  serve();
  EXPECT_EQ(outcome(*bob), "waits");
  clock.advance_ms(1);
  serve();
  EXPECT_EQ(outcome(*bob), "bob");
  EXPECT_EQ(commits(), (std::vector<std::string>{"LockAcquired", "LockExpired LockAcquired"}));
}

TEST_F(RpcLock, TheLeaseThatIsWaitedForMayBecomeLongerOrShorter) {
  acquire("ann");
  const auto bob = waiter("bob");
  clock.advance_ms(500);
  word("lock.refresh", 1, R"(,"lease_ms":3000)");
  clock.advance_ms(600);
  serve();
  EXPECT_EQ(outcome(*bob), "waits");
  word("lock.refresh", 1, R"(,"lease_ms":100)");
  EXPECT_EQ(locks.next_due_ns(), clock.monotonic_ns() + 100'000'000);
  clock.advance_ms(100);
  serve();
  EXPECT_EQ(outcome(*bob), "bob");
}

TEST_F(RpcLock, OfManyTakersOfALockThatIsOverExactlyOneWins) {  // L9
  acquire("ann");
  clock.advance_ms(1000);
  std::vector<std::shared_ptr<ListeningPeer>> takers;
  for (int count = 0; count < 20; ++count) {
    takers.push_back(send_from(
        "lock.acquire", R"({"key":"deploy","owner":"taker-)" + std::to_string(count) + "\"}"));
  }
  commit_all();
  int winners = 0;
  for (const auto& taker : takers) winners += outcome(*taker).starts_with("taker-") ? 1 : 0;
  EXPECT_EQ(winners, 1);
}

TEST_F(RpcLock, WhoseTimeIsOverIsToldTheHolder) {  // L2
  acquire("ann", R"(,"reason":"r")");
  const auto bob = send_from("lock.acquire", R"({"key":"deploy","owner":"bob","wait_ms":10})");
  clock.advance_ms(10);
  serve();
  const auto refused = bob->next();
  EXPECT_EQ(code_of(refused), "LOCK_HELD");
  EXPECT_EQ(details_of(refused).at("owner"), "ann");
  EXPECT_EQ(details_of(refused).at("reason"), "r");
}

TEST_F(RpcLock, WhoIsGoneIsGivenNothing) {
  acquire("ann");
  const auto gone = waiter("bob");
  const auto eve = waiter("eve");
  gone->is_closed = true;
  word("lock.release", 1);
  serve();
  EXPECT_EQ(outcome(*gone), "waits");
  EXPECT_EQ(outcome(*eve), "eve");
}

TEST_F(RpcLock, TwoWaitsUnderOneCommandIdAreOneGrant) {
  acquire("ann");
  const auto first = waiter("bob", R"(,"command_id":"c")");
  const auto again = waiter("bob", R"(,"command_id":"c")");
  word("lock.release", 1);
  serve();
  EXPECT_EQ(outcome(*first), "bob");
  EXPECT_EQ(again->next().at("result").at("replayed"), true);
  EXPECT_EQ(locks.size(), 0U);
}

TEST_F(RpcLock, WaitsAreBoundedAndRefusedAtTheEnd) {
  acquire("ann");
  std::vector<std::shared_ptr<ListeningPeer>> waiting;
  for (std::size_t count = 0; count < waiting_locks_max; ++count) waiting.push_back(waiter("bob"));
  EXPECT_EQ(outcome(*waiter("eve")), "OVERLOADED");
  EXPECT_EQ(outcome(*send_from("lock.acquire", R"({"key":"deploy","owner":"eve"})")), "LOCK_HELD")
      << "who doesn't wait needs no place";
  waiting.front()->is_closed = true;  // a place that nobody needs
  const auto last = waiter("eve");
  EXPECT_EQ(outcome(*last), "waits");
  locks.refuse_all({ErrorCode::SHUTTING_DOWN, "the end", {}, {}});
  EXPECT_EQ(outcome(*last), "SHUTTING_DOWN");
  EXPECT_EQ(locks.size(), 0U);
}

TEST_F(RpcLock, BadWordsAreRefusedBeforeTheyWait) {
  acquire("ann");
  for (const char* params :
       {R"({"key":"","owner":"bob","wait_ms":1000})", R"({"key":"deploy","owner":"","wait_ms":1})",
        R"({"key":"deploy","owner":"bob","lease_ms":1,"wait_ms":1000})",
        R"({"key":"deploy","owner":"bob","run_root":"relative"})", R"({"key":"deploy"})"}) {
    EXPECT_EQ(code_of(ask("lock.acquire", params)), "INVALID_PARAMS") << params;
  }
  EXPECT_EQ(locks.size(), 0U);
}

TEST_F(RpcLock, GetTellsHeldOverAndFree) {
  const auto state = [this] { return ask("lock.get", R"({"key":"deploy"})").at("result"); };
  EXPECT_TRUE(state().at("lock").is_null());
  EXPECT_TRUE(state().at("last").is_null());
  acquire("ann", R"(,"reason":"r")");
  const auto bob = waiter("bob");
  EXPECT_EQ(state().at("lock").at("status"), "held");
  EXPECT_EQ(state().at("lock").at("owner"), "ann");
  EXPECT_EQ(state().at("waiting"), 1);
  bob->is_closed = true;
  clock.advance_ms(1000);
  EXPECT_EQ(state().at("lock").at("status"), "expired");
  serve();
  clock.advance_ms(limits::lock_linger_ms_max);
  serve();
  EXPECT_TRUE(state().at("lock").is_null());
  EXPECT_EQ(state().at("last").at("owner"), "ann");
  EXPECT_EQ(state().at("last").at("ended"), "expired");
  EXPECT_EQ(state().at("waiting"), 0);
}

TEST_F(RpcLock, AfterARestartTheLeaseBeginsAnewAndIsToldSo) {
  acquire("ann");
  clock.advance_ms(900);
  timers.arm_all(engine.world(), clock.wall_ns(), clock.monotonic_ns());
  clock.advance_ms(999);
  const auto refused = acquire("bob");
  EXPECT_EQ(code_of(refused), "LOCK_HELD");
  EXPECT_EQ(details_of(refused).at("expires_at"),
            json::value(format_time(clock.wall_ns() + 1'000'000)));
  clock.advance_ms(1);
  EXPECT_EQ(code_of(acquire("bob")), "");
}

TEST_F(RpcLock, AListIsPagedByKeyAndFiltered) {
  for (int count = 0; count < 25; ++count) {
    const std::string number = std::to_string(100 + count);
    ask("lock.acquire",
        R"({"key":"a/)" + number + R"(","owner":")" + (count % 2 == 0 ? "even" : "odd") + "\"}");
  }
  ask("lock.acquire", R"({"key":"b","owner":"even"})");
  std::vector<std::string> keys;
  json::value cursor = nullptr;
  int pages = 0;
  do {
    json::object params{{"prefix", "a/"}, {"owner", "even"}, {"limit", 5}};
    if (!cursor.is_null()) params["cursor"] = cursor;
    const auto page = ask("lock.list", json::serialize(params)).at("result").as_object();
    for (const auto& each : page.at("locks").as_array()) {
      keys.emplace_back(each.at("key").as_string());
    }
    cursor = page.at("next_cursor");
    ++pages;
  } while (!cursor.is_null());
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(keys.size(), 13U);
  EXPECT_EQ(keys.front(), "a/100");
  EXPECT_EQ(keys.back(), "a/124");
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
}

// With run roots.
class RpcLockFile : public RpcLock {
 protected:
  std::string root() const { return directory_.path().string(); }
  std::filesystem::path file() const { return directory_.path() / ".lock"; }
  void write(const std::string& text) const { std::ofstream(file(), std::ios::binary) << text; }
  std::string with_root(const std::string& more = {}) const {
    return R"(,"run_root":")" + root() + "\"" + more;
  }
  std::string foreign(const std::string& owner, std::int64_t expires_in_ms) const {
    return R"({"schema_version":"lock.v1","key":"deploy","owner":")" + owner +
           R"(","token":9,"lease_ms":1000,"acquired_at":"2020-01-01T00:00:00Z","expires_at":")" +
           format_time(clock.wall_ns() + expires_in_ms * 1'000'000) + R"(","reason":"nightly"})" +
           "\n";
  }
  // What the log says of the file that made way.
  std::string replaced() const {
    std::string reason = "nothing";
    EXPECT_TRUE(log.scan(1, log.tail(), [&](Record&& record) {
      if (const auto* event = event_as<LockFileReplaced>(record.event)) reason = event->reason;
      return true;
    }));
    return reason;
  }
  TemporaryDirectory directory_;
};

TEST_F(RpcLockFile, WhatCantBeReadAsALockMakesWay) {  // L4
  const std::vector<std::pair<std::string, std::string>> garbage = {
      {"", "empty"},
      {"{\n", "not JSON: "},
      {std::string("\0\xff\x01", 3), "not JSON: "},
      {"[1]", "no lock: not a JSON object"},
      {R"({"owner":"cron"})", "no lock: it doesn't say when its lease is over"},
      {R"({"expires_at":"2099-01-01T00:00:00Z"})", "no lock: it names no owner"},
      {R"({"owner":"","expires_at":"2099-01-01T00:00:00Z"})", "no lock: it names no owner"},
      {R"({"owner":"a\nb","expires_at":"2099-01-01T00:00:00Z"})", "no lock: it names no owner"},
      {R"({"owner":"cron","expires_at":"soon"})", "no lock: it doesn't say when"},
      {std::string(lock_file_bytes_max + 1, ' '), "too large: 65537 bytes"},
  };
  for (const auto& [text, reason] : garbage) {
    write(text);
    const auto taken = acquire("ann", with_root());
    EXPECT_EQ(code_of(taken), "") << reason;
    EXPECT_TRUE(replaced().starts_with(reason)) << replaced() << " for " << reason;
    word("lock.release", token_of(taken));
  }
}

TEST_F(RpcLockFile, WhatIsNoFileMakesWayToo) {  // L4
  const auto taken_because = [this](const char* reason) {
    const auto taken = acquire("ann", with_root());
    EXPECT_EQ(code_of(taken), "");
    EXPECT_EQ(replaced(), reason);
    word("lock.release", token_of(taken));
    std::filesystem::remove_all(file());
  };
  std::filesystem::create_directories(file() / "inside");
  taken_because("a directory");
  std::ofstream(directory_.path() / "elsewhere") << foreign("cron", 1000);
  std::filesystem::create_symlink(directory_.path() / "elsewhere", file());
  taken_because("a symbolic link");
  ASSERT_EQ(::mkfifo(file().c_str(), 0600), 0);
  taken_because("not a regular file");
}

TEST_F(RpcLockFile, NothingThereIsNothingReplaced) {
  EXPECT_EQ(code_of(acquire("ann", with_root())), "");
  EXPECT_EQ(code_of(ask("lock.acquire", R"({"key":"k","owner":"o","run_root":"/not/there"})")), "");
  EXPECT_EQ(commits(), (std::vector<std::string>{"LockAcquired", "LockAcquired"}));
}

// The lease of who held it is over, and a stranger's file is in the way: what ends is recorded, and
// the command that was refused has no result that could be told again.
TEST_F(RpcLockFile, WhatEndsWithARefusalIsNotItsResult) {  // L3, L4
  acquire("bob");
  clock.advance_ms(1500);
  write(foreign("cron", 60'000));
  const std::string again = with_root(R"(,"command_id":"c1")");
  EXPECT_EQ(code_of(acquire("ann", again)), "LOCK_HELD");
  EXPECT_EQ(commits(), (std::vector<std::string>{"LockAcquired", "LockExpired"}));
  EXPECT_EQ(code_of(acquire("ann", again)), "LOCK_HELD");
  std::filesystem::remove(file());
  const auto granted = acquire("ann", again);
  EXPECT_EQ(code_of(granted), "");
  EXPECT_EQ(token_of(granted), 3U);
}

TEST_F(RpcLockFile, AStrangersFreshFileHoldsAndAnOverOneIsTakenOver) {  // L4
  write(foreign("cron", 500));
  const auto refused = acquire("ann", with_root());
  EXPECT_EQ(code_of(refused), "LOCK_HELD");
  EXPECT_EQ(details_of(refused).at("owner"), "cron");
  EXPECT_EQ(details_of(refused).at("reason"), "nightly");
  EXPECT_EQ(details_of(refused).at("lock_file"), json::value(file().string()));
  clock.advance_ms(500);
  EXPECT_EQ(code_of(acquire("ann", with_root())), "");
  EXPECT_EQ(replaced(), "expired");
  EXPECT_EQ(commits(), (std::vector<std::string>{"LockFileReplaced LockAcquired"}));
}

TEST_F(RpcLockFile, AStrangersFileIsWaitedForToo) {  // L4
  write(foreign("cron", 60'000));
  const auto ann = waiter("ann", with_root());
  const auto bob = waiter("bob", with_root());
  serve();
  EXPECT_EQ(outcome(*ann), "waits");
  std::filesystem::remove(file());
  serve();
  EXPECT_EQ(outcome(*ann), "waits") << "until it is looked at again";
  EXPECT_EQ(locks.next_due_ns(), clock.monotonic_ns() + lock_file_pause_ms * 1'000'000);
  clock.advance_ms(lock_file_pause_ms);
  serve();
  EXPECT_EQ(outcome(*ann), "ann");
  EXPECT_EQ(outcome(*bob), "waits");
}

TEST_F(RpcLockFile, WhatThisLogGrantedCountsForNothing) {  // L4
  const auto granted = acquire("ann", with_root()).at("result").as_object();
  json::object mirror = granted;
  mirror["schema_version"] = "lock.v1";
  write(json::serialize(mirror) + "\n");
  word("lock.release", 1);
  // As after a crash between the release and the removal of the file.
  EXPECT_EQ(code_of(acquire("bob", with_root())), "");
  EXPECT_EQ(replaced(), "nothing");
}

TEST_F(RpcLockFile, AnotherKeysHolderHasTheRunRoot) {  // L4
  json::object mirror = acquire("ann", with_root()).at("result").as_object();
  mirror["schema_version"] = "lock.v1";
  write(json::serialize(mirror));
  const std::string other = R"({"key":"other","owner":"bob","run_root":")" + root() + "\"}";
  const auto refused = ask("lock.acquire", other);
  EXPECT_EQ(code_of(refused), "LOCK_HELD");
  EXPECT_EQ(details_of(refused).at("owner"), "ann");
  word("lock.release", 1);
  EXPECT_EQ(code_of(ask("lock.acquire", other)), "");
}

TEST_F(RpcLockFile, AFileThatOnlyClaimsToBeOfThisLogIsAStrangers) {  // L4
  json::object mirror = acquire("ann", with_root()).at("result").as_object();
  word("lock.release", 1);
  mirror["acquired_at"] = format_time(clock.wall_ns() + 1);
  mirror["expires_at"] = format_time(clock.wall_ns() + 60'000'000'000);
  write(json::serialize(mirror));
  EXPECT_EQ(code_of(acquire("bob", with_root())), "LOCK_HELD");
}

}  // namespace
}  // namespace signalbox
