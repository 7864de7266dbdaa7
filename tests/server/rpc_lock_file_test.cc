// Tests `lock.acquire` with a run root that already has a `.lock` file.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include <boost/json/serialize.hpp>

#include "domain/limits.h"
#include "server/followers/run_root/run_root_place.h"
#include "server/limits.h"
#include "server/text/time_text.h"
#include "tests/server/executor_fixture.h"
#include "tests/server/rpc_lock_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

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
  // Returns the reason in the log for replacing the file, or "nothing".
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
    call_lock("lock.release", token_of(taken));
  }
}

TEST_F(RpcLockFile, WhatIsNoFileMakesWayToo) {  // L4
  const auto taken_because = [this](const char* reason) {
    const auto taken = acquire("ann", with_root());
    EXPECT_EQ(code_of(taken), "");
    EXPECT_EQ(replaced(), reason);
    call_lock("lock.release", token_of(taken));
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

// The holder's lease is over, and another program's file is in the way. The end of the lease is
// recorded, but the refused command has no result to repeat.
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

// P3, K10: the clock of a server that took over is behind the log's. Whether a stranger's lease is
// over is decided by one time, so that the command isn't carried out without its id.
TEST_F(RpcLockFile, WhatIsOverByTheTimeOfTheLogIsTakenByTheCommandThatAskedForIt) {
  const auto held = acquire("ann");
  ASSERT_EQ(code_of(held), "");
  engine.lead(clock.wall_ns() + 60'000'000'000);
  write(foreign("cron", 30'000));
  clock.advance_ms(2000);
  const auto taken = acquire("bob", with_root(R"(,"command_id":"once")"));
  EXPECT_EQ(code_of(taken), "");
  bool has_id = false;
  EXPECT_TRUE(log.scan(1, log.tail(), [&has_id](Record&& record) {
    if (event_as<LockAcquired>(record.event) != nullptr) has_id = record.command_id == "once";
    return true;
  }));
  EXPECT_TRUE(has_id);
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

TEST_F(RpcLockFile, ALeaseForEverHolds) {  // L4
  for (const char* end :
       {R"("expires_at":"9999-12-31T23:59:59Z")", R"("expires_at":"2999-02-28T00:00:00Z")",
        R"("acquired_at":"2020-01-01T00:00:00Z","lease_ms":9223372036854775807)"}) {
    write(R"({"owner":"cron",)" + std::string(end) + "}");
    EXPECT_EQ(code_of(acquire("ann", with_root())), "LOCK_HELD") << end;
  }
  write(R"({"owner":"cron","expires_at":"9999-13-31T23:59:59Z"})");
  EXPECT_EQ(code_of(acquire("ann", with_root())), "");
}

TEST_F(RpcLockFile, AnotherNotationIsUnderstood) {  // A10
  write(R"({"owner_id":"cron","acquired_at":")" + format_time(clock.wall_ns()) +
        R"(","lease_seconds":60})");
  const auto refused = acquire("ann", with_root());
  EXPECT_EQ(code_of(refused), "LOCK_HELD");
  EXPECT_EQ(details_of(refused).at("owner"), "cron");
  clock.advance_ms(60'000);
  EXPECT_EQ(code_of(acquire("ann", with_root())), "");
}

TEST_F(RpcLockFile, AStrangersLockFromTheFutureIsStale) {  // A10
  write(R"({"owner":"cron","lease_ms":1000,"acquired_at":")" +
        format_time(clock.wall_ns() + 3'600'000'000'000) + R"("})");
  EXPECT_EQ(code_of(acquire("ann", with_root())), "");
  EXPECT_EQ(replaced(), "no lock: it was taken in the future");
}

// The clock of its machine is ahead, and it lives.
TEST_F(RpcLockFile, AStrangersLockFromAClockThatIsAheadHolds) {  // A10
  const auto taken_ahead = [this](std::int64_t ms) {
    write(R"({"owner":"cron","lease_ms":60000,"acquired_at":")" +
          format_time(clock.wall_ns() + ms * 1'000'000) + R"("})");
  };
  for (const std::int64_t ms : {std::int64_t{6'000}, limits::foreign_lock_ahead_ms_max}) {
    taken_ahead(ms);
    EXPECT_EQ(code_of(acquire("ann", with_root())), "LOCK_HELD") << ms;
  }
  taken_ahead(limits::foreign_lock_ahead_ms_max + 1);
  EXPECT_EQ(code_of(acquire("ann", with_root())), "");
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

// Somebody acquires the key without a run root, for less than the pause between two reads of the
// file.
TEST_F(RpcLockFile, ALeaseThatIsOverBeforeTheNextLookKeepsNobodyBusy) {  // L3, L4
  write(foreign("cron", 60'000));
  const auto ann = waiter("ann", with_root());
  const auto bob = send_from("lock.acquire", R"({"key":"deploy","lease_ms":100,"owner":"bob"})");
  commit_all();
  EXPECT_EQ(outcome(*bob), "bob");
  clock.advance_ms(100);
  locks.serve(clock.monotonic_ns());
  EXPECT_EQ(outcome(*ann), "waits");
  ASSERT_TRUE(locks.next_due_ns());
  EXPECT_EQ(*locks.next_due_ns(), clock.monotonic_ns() + (lock_file_pause_ms - 100) * 1'000'000);
  std::filesystem::remove(file());
  clock.advance_ms(lock_file_pause_ms - 100);
  serve();
  EXPECT_EQ(outcome(*ann), "ann");
  EXPECT_EQ(commits(), (std::vector<std::string>{"LockAcquired", "LockExpired LockAcquired"}));
}

TEST_F(RpcLockFile, WhatThisLogGrantedCountsForNothing) {  // L4
  const auto granted = acquire("ann", with_root()).at("result").as_object();
  json::object mirror = granted;
  mirror["schema_version"] = "lock.v1";
  write(json::serialize(mirror) + "\n");
  call_lock("lock.release", 1);
  // The file is still there, as after a crash between the release and its removal.
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
  call_lock("lock.release", 1);
  EXPECT_EQ(code_of(ask("lock.acquire", other)), "");
}

TEST_F(RpcLockFile, AFileThatOnlyClaimsToBeOfThisLogIsAStrangers) {  // L4
  json::object mirror = acquire("ann", with_root()).at("result").as_object();
  call_lock("lock.release", 1);
  mirror["acquired_at"] = format_time(clock.wall_ns() + 1);
  mirror["expires_at"] = format_time(clock.wall_ns() + 60'000'000'000);
  write(json::serialize(mirror));
  EXPECT_EQ(code_of(acquire("bob", with_root())), "LOCK_HELD");
}

// A disk that hangs holds up those who name a root on it, and they are told so.
TEST_F(RpcLockFile, ARunRootWhoseDiskHangsIsRefusedInItsOwnLane) {  // G6
  std::vector<Lane> lanes;
  api.run_root_rule = std::make_shared<RunRootRule>("/data", std::vector<std::filesystem::path>());
  api.blocking = BlockingPool(
      [&lanes](Lane lane, std::function<void()> action) {
        lanes.push_back(lane);
        const bool hangs = lane.name.find("/hung") != std::string::npos && lane.failed;
        return hangs ? lane.failed(LaneFailure::late) : action();
      },
      at_once);
  const auto refused = acquire("eve", R"(,"run_root":"/hung/root")");
  EXPECT_EQ(code_of(refused), "OVERLOADED");
  EXPECT_EQ(details_of(refused).at("run_root"), "/hung/root");
  EXPECT_EQ(refused.at("error").at("data").at("next_commands").at(0), "timeout 10 ls /hung/root");
  ASSERT_EQ(lanes.size(), 1U) << "the place is checked first";
  EXPECT_EQ(lanes.front().deadline_ms, limits::run_root_read_ms_max);
  EXPECT_EQ(code_of(acquire("ann", with_root())), "");
  for (const Lane& lane : lanes) {
    EXPECT_TRUE(lane.name == "run root /hung/root" || lane.name == "run root " + root())
        << lane.name;
  }
}

}  // namespace
}  // namespace signalbox
