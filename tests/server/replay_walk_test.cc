// Tests that a walk through the log has the log's state at each position, wherever it came from.
#include "server/replay/replay_walk.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "domain/evolve.h"
#include "projections/world_digest.h"
#include "store/memory_event_log.h"

namespace signalbox {
namespace {

// The log alternates two locks, so that each event changes the state, and is long enough for
// several kept states.
constexpr Position length = 90'000;

class ReplayWalkTest : public testing::Test {
 protected:
  static const MemoryEventLog& log() {
    static const std::unique_ptr<MemoryEventLog> made = make();
    return *made;
  }
  static std::unique_ptr<MemoryEventLog> make() {
    auto log = std::make_unique<MemoryEventLog>();
    std::vector<Commit> commits;
    for (Position position = 1; position <= length; ++position) {
      Record record;
      record.position = position;
      record.recorded_at_ns = static_cast<std::int64_t>(position) * 1'000'000;
      const Position acquired_at = position - (position + 1) % 2;
      const std::string key = "lock" + std::to_string((acquired_at / 2) % 2);
      const std::string owner = "owner" + std::to_string(acquired_at % 7);
      record.stream = Stream::lock(key);
      if (position == acquired_at) {
        record.event = LockAcquired{key, owner, 60'000, {}, {}};
      } else {
        record.event = LockReleased{key, owner, acquired_at, {}};
      }
      commits.push_back({record});
    }
    EXPECT_EQ(log->append(0, commits).status, AppendStatus::ok);
    return log;
  }
  // The states at these positions from one fold of the log.
  static std::map<Position, Digest> digests_at(const std::vector<Position>& positions) {
    const std::set<Position> wanted(positions.begin(), positions.end());
    World world;
    std::map<Position, Digest> digests{{0, world_digest(world)}};
    const auto scanned = log().scan(1, length, [&](Record&& record) {
      evolve(world, record);
      if (wanted.contains(record.position)) digests[record.position] = world_digest(world);
      return true;
    });
    EXPECT_TRUE(scanned);
    return digests;
  }
};

TEST_F(ReplayWalkTest, IsRightWhereverItGoes) {  // R1
  std::vector<Position> stops{0, length, length - 1, 1};
  std::mt19937_64 random(7);
  for (int round = 0; round < 30; ++round) {
    const Position position = std::uniform_int_distribution<Position>(0, length)(random);
    stops.push_back(position);
    if (position > 1) stops.push_back(position - 1);
    if (position < length) stops.push_back(position + 1);
  }
  const std::map<Position, Digest> digests = digests_at(stops);
  ReplayWalk walk(log(), "/nonexistent");
  for (const Position position : stops) {
    const auto step = walk.go(position);
    ASSERT_TRUE(step) << step.error().message;
    ASSERT_EQ(walk.position(), position);
    ASSERT_EQ(step->has_value(), position != 0);
    if (*step) {
      EXPECT_EQ((*step)->record.position, position);
      EXPECT_FALSE((*step)->changes.empty());
    }
    ASSERT_EQ(world_digest(walk.world()), digests.at(position)) << position;
  }
}

TEST_F(ReplayWalkTest, FindsTheNextAndStaysWhereThereIsNone) {
  ReplayWalk walk(log(), "/nonexistent");
  const auto of_owner = [](const Record& record) {
    const auto* acquired = event_as<LockAcquired>(record.event);
    return acquired != nullptr && acquired->owner == "owner3";
  };
  const auto first = walk.find(of_owner);
  ASSERT_TRUE(first && *first);
  EXPECT_EQ(walk.position(), 3U);
  ASSERT_TRUE(walk.find(of_owner).value());
  EXPECT_EQ(walk.position(), 17U);
  const auto none = walk.find([](const Record& record) { return record.actor == "nobody"; });
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
  EXPECT_EQ(walk.position(), 17U);
}

TEST_F(ReplayWalkTest, TellsWhatIsAboutInBetween) {
  const ReplayWalk walk(log(), "/nonexistent");
  EXPECT_EQ(walk.streams_between(1, 4).value(),
            (std::vector<ReplayWalk::Touched>{{Stream::lock("lock0"), "LockReleased"},
                                              {Stream::lock("lock1"), "LockReleased"}}));
}

}  // namespace
}  // namespace signalbox
