// Checks that the watch for lateness reports what is over and goes on, and nothing else.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/simulation/lateness_watch.h"

namespace signalbox::simulation {
namespace {

class LatenessWatchTest : public ::testing::Test {
 protected:
  // Applies a record, which is durable at once. Returns its position.
  Position apply(Stream stream, Event event, Position cause = 0) {
    Record record;
    record.position = ++tail_;
    record.stream = std::move(stream);
    record.cause = cause;
    record.event = std::move(event);
    watch_.applied(record);
    watch_.durable(record);
    return tail_;
  }
  void pass(std::int64_t ms) {
    environment_.schedule.after(ms * ns_per_ms, outside, [] {});
    ASSERT_TRUE(environment_.schedule.step());
  }
  // Returns what is late now, or "".
  std::string late() {
    environment_.violation.reset();
    watch_.examine();
    return environment_.violation.value_or("");
  }
  Token hold_lock() {
    return apply(Stream::lock("main"), LockEvent{LockAcquired{"main", "ann", 1000, "", ""}});
  }
  // Starts a run whose station may take 5 s, and claims it for a second. Returns the token.
  Token claim(Token lock = 0) {
    PipelineDefinition pipeline{"p", {}};
    pipeline.stations.emplace_back().name = "work";
    pipeline.stations.front().timeout_ms = 5000;
    RunStarted started;
    started.pipeline = std::move(pipeline);
    apply(Stream::run(run_id_), RunEvent{std::move(started)});
    StationClaimed claimed;
    claimed.station = "work";
    claimed.lease_ms = 1000;
    claimed.lock_token = lock;
    return apply(Stream::run(run_id_), StationEvent{std::move(claimed)});
  }

  Environment environment_{1, Mutant::none, 10};
  LatenessWatch watch_{environment_};
  const RunId run_id_ = *parse_uuid("00000000-0000-0000-0000-000000000001");
  Position tail_ = 0;
};

TEST_F(LatenessWatchTest, ALeaseThatIsOverHasToEnd) {
  const Token token = claim();
  pass(2000);
  EXPECT_EQ(late(), "");
  apply(Stream::run(run_id_), StationEvent{StationHeartbeat{"work", 1000, ""}}, token);
  pass(2000);
  EXPECT_EQ(late(), "");
  pass(1000);
  EXPECT_EQ(late(), "the lease of station work, token 2, was over long ago, and it goes on");
  apply(Stream::run(run_id_), StationEvent{StationDeferred{}});
  EXPECT_EQ(late(), "");
}

// L8
TEST_F(LatenessWatchTest, ALockLingersOnlyWhileNothingDependsOnIt) {
  const Token lock = hold_lock();
  pass(30'000);
  EXPECT_EQ(late(), "");
  claim(lock);
  EXPECT_EQ(late(), "the lease of lock main, token 1, was over long ago, and it goes on");
  apply(Stream::lock("main"), LockEvent{LockExpired{"main", "ann", lock, ""}});
  EXPECT_EQ(late(), "");
}

TEST_F(LatenessWatchTest, APausedAttemptHasNoTimeout) {
  const Token token = claim();
  const auto beat = [&] {
    apply(Stream::run(run_id_), StationEvent{StationHeartbeat{"work", 60'000, ""}}, token);
  };
  beat();
  apply(Stream::run(run_id_), RunEvent{RunPaused{}});
  pass(10'000);
  EXPECT_EQ(late(), "");
  apply(Stream::run(run_id_), RunEvent{RunResumed{}});
  pass(6000);
  EXPECT_EQ(late(), "");
  pass(1000);
  EXPECT_EQ(late(), "the time of station work, token 2, was over long ago, and it goes on");
}

TEST_F(LatenessWatchTest, TimeWithoutAProcessorDoesNotCount) {
  claim();
  watch_.excuse(environment_.schedule.monotonic_ns() + 4000 * ns_per_ms);
  pass(6000);
  EXPECT_EQ(late(), "");
  watch_.begin_anew();
  pass(2000);
  EXPECT_EQ(late(), "");
  pass(1000);
  EXPECT_NE(late(), "");
}

}  // namespace
}  // namespace signalbox::simulation
