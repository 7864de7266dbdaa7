// A retried run in the projections: the world's digest, the run index, the timeline.
#include <gtest/gtest.h>

#include "domain/evolve.h"
#include "domain/invariants.h"
#include "projections/memory_table.h"
#include "projections/run_index.h"
#include "projections/timeline.h"
#include "projections/world_codec.h"
#include "projections/world_digest.h"
#include "tests/domain/given_when_then.h"
#include "tests/projections/two_stations.h"

namespace signalbox {
namespace {

class RetriedRunTest : public ::testing::Test {
 protected:
  void happens(const RunId& run, Event event) {
    Record record;
    record.position = world.position + 1;
    record.stream = Stream::run(run);
    record.recorded_at_ns = static_cast<std::int64_t>(record.position) * 10;
    record.actor = "uid:7";
    record.event = std::move(event);
    evolve(world, record);
    check_invariants(world);
    // The incremental digest equals the one computed from scratch.
    EXPECT_EQ(digest.of(world), world_digest(world)) << "at position " << world.position;
    if (run == one) log_of_one.push_back(record);
    log.push_back(std::move(record));
  }
  void fails(const RunId& run, std::uint32_t attempt) {
    happens(run, claimed("a", attempt));
    happens(run, StationEvent{StationFailed{
                     "a", attempt, {Outcome::failed, ErrorClass::config, "X", "it broke"}, {}}});
    happens(run, RunEvent{RunFailed{"a", ErrorClass::config, "X", "it broke"}});
  }
  void starts(const RunId& run) { happens(run, started(pipeline)); }
  void is_retried(const RunId& run, std::uint32_t attempts) {
    RunRetried event;
    event.station = "a";
    event.reason = "fixed";
    event.started_at = 1;
    event.pipeline_digest = digest_of(0x90);
    event.attempts = {attempts, 0};
    happens(run, RunEvent{event});
  }
  RunRow row(const RunId& run) {
    EXPECT_TRUE(index.apply(log).has_value());
    return index.find(run).value().value();
  }
  std::size_t listed(RunStatus status) {
    RunFilter filter;
    filter.status = status;
    return index.list(filter, 10).value().rows.size();
  }

  const PipelineDefinition pipeline = two_stations();
  const RunId one = uuid_of(1);
  const RunId two = uuid_of(2);
  const RunId three = uuid_of(3);
  World world;
  WorldDigest digest;
  MemoryTable table;
  RunIndex index{table};
  std::vector<Record> log;
  std::vector<Record> log_of_one;
};

// The retried runs' ends are in the middle, at the front and at the back of those that the digest
// keeps.
TEST_F(RetriedRunTest, TheDigestForgetsTheEndAndTakesTheNextOne) {  // P6
  for (const RunId& run : {one, two, three}) {
    starts(run);
    fails(run, 1);
  }
  is_retried(two, 1);
  is_retried(three, 1);
  fails(two, 2);
  is_retried(one, 1);
  fails(three, 2);
  fails(one, 2);
  is_retried(two, 2);
  EXPECT_EQ(world_digest(decode_world(encode_world(world)).value()), world_digest(world));
}

TEST_F(RetriedRunTest, IsRunningInTheIndexUntilItEndsAgain) {
  starts(one);
  fails(one, 1);
  EXPECT_EQ(row(one).status, RunStatus::failed);
  EXPECT_EQ(row(one).ended_position, 4U);
  is_retried(one, 1);
  EXPECT_EQ(row(one).status, RunStatus::running);
  EXPECT_EQ(row(one).station_status, StationStatus::pending);
  EXPECT_EQ(row(one).ended_position, 0U);
  EXPECT_EQ(row(one).ended_at_ns, 0);
  EXPECT_EQ(row(one).attempts, 1U);
  EXPECT_EQ(listed(RunStatus::failed), 0U);
  EXPECT_EQ(listed(RunStatus::running), 1U);
  EXPECT_EQ(index.counts().value().failed, 0U);
  fails(one, 2);
  EXPECT_EQ(row(one).status, RunStatus::failed);
  EXPECT_EQ(row(one).ended_position, 8U);
  EXPECT_EQ(listed(RunStatus::running), 0U);

  MemoryTable fresh;
  RunIndex again(fresh);
  ASSERT_TRUE(again.apply(log).has_value());
  EXPECT_EQ(again.find(one).value(), row(one));
  EXPECT_EQ(again.run_positions(one).value(), index.run_positions(one).value());
}

TEST_F(RetriedRunTest, TheTimelineHasAllAttemptsAndWhoRetried) {
  starts(one);
  fails(one, 1);
  is_retried(one, 1);
  happens(one, claimed("a", 2));
  RunTimeline timeline = fold_timeline(log_of_one, pipeline);
  EXPECT_EQ(timeline.status, RunStatus::running);
  EXPECT_FALSE(timeline.failure.has_value());
  EXPECT_EQ(timeline.ended_at_ns, 0);
  EXPECT_EQ(timeline.stations[0].status, StationStatus::running);
  ASSERT_EQ(timeline.stations[0].attempts.size(), 2U);
  EXPECT_EQ(timeline.stations[0].attempts[0].failure->code, "X");
  EXPECT_EQ(timeline.stations[0].attempts[1].ended_at_ns, 0);
  ASSERT_EQ(timeline.retries.size(), 1U);
  EXPECT_EQ(timeline.retries[0], (TimelineRetry{50, 5, "uid:7", "fixed", "a", Strategy::original}));
  happens(one, succeeded("a", 2));
  timeline = fold_timeline(log_of_one, pipeline);
  EXPECT_EQ(timeline.stations[0].status, StationStatus::succeeded);
}

TEST_F(RetriedRunTest, ARowThatHasntFailedCantBeRetried) {
  starts(one);
  EXPECT_TRUE(index.apply(log).has_value());
  Record record = log.back();
  record.position = 2;
  record.event = RunEvent{RunRetried{}};
  const auto applied = index.apply(std::vector{record});
  ASSERT_FALSE(applied.has_value());
  EXPECT_EQ(applied.error().kind, StoreError::Kind::damaged);
}

}  // namespace
}  // namespace signalbox
