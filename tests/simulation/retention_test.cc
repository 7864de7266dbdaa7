// Checks that the judge of retentions can fail.
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/memory_event_log.h"
#include "tests/simulation/retention.h"

namespace signalbox::simulation {
namespace {

constexpr std::int64_t retention_now_ns = 1'000'000 * ns_per_s;
constexpr std::int64_t retention_hour_ns = 3600 * ns_per_s;

class RetentionJudge : public ::testing::Test {
 protected:
  // Two old locks, of which the second one is held, and a young one.
  void SetUp() override {
    environment_.faults.stop();
    const std::int64_t old_ns = retention_now_ns - retention_hour_ns;
    log(old_ns, LockAcquired{"main", "ann", 500, "why", ""});
    log(old_ns, LockReleased{"main", "ann", 1, ""});
    log(old_ns, LockAcquired{"deploy", "bob", 500, "why", ""});
    log(retention_now_ns, LockAcquired{"nightly", "eve", 500, "why", ""});
  }
  template <class Lock>
  void log(std::int64_t recorded_at_ns, const Lock& lock) {
    Record record;
    record.position = log_.tail() + 1;
    record.stream = Stream::lock(lock.key);
    record.recorded_at_ns = recorded_at_ns;
    record.command_id = "command " + std::to_string(record.position);
    record.event = LockEvent{lock};
    append(log_, {record});
    append(whole_, {record});
  }
  static void append(EventLog& log, const Commit& commit) {
    ASSERT_EQ(log.append(log.tail(), {&commit, 1}).status, AppendStatus::ok);
  }

  // Stages a retention as the loop does.
  StagedRetention stage() {
    const std::atomic<bool> stopped = false;
    StagedRetention staged = retention_.stage(log_, retention_now_ns, stopped);
    EXPECT_EQ(staged.outcome.error, "");
    EXPECT_TRUE(staged.event.has_value());
    return staged;
  }
  // Drops what was staged. Returns the violation that the judge finds, or nothing.
  std::string drop(StagedRetention staged) {
    Record record;
    record.position = log_.tail() + 1;
    record.stream = Stream::server();
    record.recorded_at_ns = retention_now_ns;
    record.event = ServerEvent{*staged.event};
    EXPECT_TRUE(log_.store_base_part(staged.drop));
    const auto dropped = log_.commit_drop(log_.tail(), {record}, staged.drop);
    EXPECT_TRUE(dropped && dropped->status == AppendStatus::ok);
    append(whole_, {record});
    retention_.dropped();
    return environment_.violation.value_or("");
  }

  Environment environment_{1, Mutant::none, 10, true};
  MemoryEventLog log_;
  MemoryEventLog whole_;
  Retention retention_{environment_, log_, whole_};
};

// G17
TEST_F(RetentionJudge, AcceptsWhatThePolicySays) {
  EXPECT_EQ(drop(stage()), "");
  EXPECT_EQ(environment_.dropped.horizon.position, 3U);
  EXPECT_EQ(environment_.dropped.horizon.kept, (std::vector<PositionRange>{{3, 3}}));
  EXPECT_EQ(environment_.dropped.commands, (std::set<std::string>{"command 1", "command 2"}));
}

TEST_F(RetentionJudge, MissesTheGrantOfAHeldLock) {  // G17
  StagedRetention staged = stage();
  staged.drop.drop.kept.clear();
  EXPECT_EQ(drop(std::move(staged)), "lock deploy was held, and record #3 was dropped");
}

TEST_F(RetentionJudge, FindsARecordThatWasTooYoung) {  // G17
  environment_.mutant = Mutant::young_record_dropped;
  EXPECT_NE(drop(stage()).find("record #4 was younger than the retention's age"),
            std::string::npos);
}

}  // namespace
}  // namespace signalbox::simulation
