// Tests lanes: one that hangs keeps no other waiting, callers are answered by their deadline, and a
// stop says what hangs. G6
#include "server/platform/lane_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "server/platform/call_bounds.h"
#include "server/platform/mount_point.h"
#include "tests/eventually.h"

namespace signalbox {
namespace {

// Work that hangs until the test releases it.
class Gate {
 public:
  ~Gate() { open(); }
  void wait() {
    std::unique_lock lock(mutex_);
    ++inside_;
    opened_.wait(lock, [this] { return open_; });
    --inside_;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }
  [[nodiscard]] int inside() const {
    const std::lock_guard lock(mutex_);
    return inside_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
  int inside_ = 0;
};

LanePool::Bounds bounds_of(std::size_t working_max, std::size_t threads_max) {
  return {.working_max = working_max,
          .threads_max = threads_max,
          .lane_working_max = 1,
          .lane_waiting_max = 2,
          .hang_ms = 1};
}

TEST(LanePool, ALaneThatHangsKeepsNoOtherWaiting) {  // G6
  Gate gate;
  LanePool pool(bounds_of(1, 3));
  pool.run({.name = "hung"}, [&] { gate.wait(); });
  ASSERT_TRUE(eventually([&] { return gate.inside() == 1; }));
  std::atomic<int> done = 0;
  for (int count = 0; count < 100; ++count) {
    pool.run({.name = "other " + std::to_string(count % 3)}, [&] { ++done; });
  }
  EXPECT_TRUE(eventually([&] { return done == 100; }));
  EXPECT_EQ(gate.inside(), 1);
  gate.open();
}

TEST(LanePool, WorkOfOneLaneIsDoneInOrderAndLanesTakeTurns) {  // G6
  Gate gate;
  std::mutex mutex;
  std::vector<std::string> done;
  LanePool::Bounds bounds = bounds_of(1, 1);
  bounds.lane_waiting_max = 100;
  {
    LanePool pool(bounds);
    pool.run({.name = "first"}, [&] { gate.wait(); });
    ASSERT_TRUE(eventually([&] { return gate.inside() == 1; }));
    for (const std::string name : {"a", "b", "c"}) {
      for (const std::string number : {"1", "2", "3"}) {
        pool.run({.name = name}, [&, text = name + number] {
          const std::lock_guard lock(mutex);
          done.push_back(text);
        });
      }
    }
    gate.open();
    EXPECT_TRUE(eventually([&] {
      const std::lock_guard lock(mutex);
      return done.size() == 9;
    }));
  }
  EXPECT_EQ(done, (std::vector<std::string>{"a1", "b1", "c1", "a2", "b2", "c2", "a3", "b3", "c3"}));
}

TEST(LanePool, ACallerIsAnsweredByItsDeadlineAndThenTheLaneRefuses) {  // G6
  Gate gate;
  std::atomic<int> late = 0;
  std::atomic<int> overloaded = 0;
  std::atomic<int> begun = 0;
  const auto count = [&](LaneFailure why) { ++(why == LaneFailure::late ? late : overloaded); };
  LanePool pool(bounds_of(1, 4));
  // On a slow machine a deadline can pass before a thread is there: such a piece isn't begun.
  int asked = 0;
  ASSERT_TRUE(eventually([&] {
    if (gate.inside() == 1) return true;
    if (late + overloaded < asked) return false;
    pool.run({.name = "hung", .deadline_ms = 20, .failed = count}, [&] { gate.wait(); });
    ++asked;
    return false;
  }));
  EXPECT_TRUE(eventually([&] { return late + overloaded == asked; }));
  const int refused = overloaded;
  pool.run({.name = "hung", .deadline_ms = 60'000, .failed = count}, [&] { ++begun; });
  EXPECT_EQ(overloaded, refused + 1) << "nothing says when the lane answers again";
  gate.open();
  EXPECT_TRUE(eventually([&] {
    pool.run({.name = "hung", .deadline_ms = 60'000, .failed = [](LaneFailure) {}},
             [&] { ++begun; });
    return begun > 0;
  })) << "the lane works again";
  EXPECT_EQ(late + overloaded, asked + 1);
}

TEST(LanePool, WorkThatNobodyWaitsForGivesItsPlaceToOthers) {  // G7
  Gate gate;
  std::atomic<int> unwanted = 0;
  std::atomic<int> overloaded = 0;
  std::atomic<int> done = 0;
  LanePool::Bounds bounds = bounds_of(1, 1);
  bounds.hang_ms = 600'000;
  LanePool pool(bounds);
  pool.run({.name = "one"}, [&] { gate.wait(); });
  ASSERT_TRUE(eventually([&] { return gate.inside() == 1; }));
  const auto is_gone = std::make_shared<std::atomic<bool>>(false);
  const auto is_never_gone = std::make_shared<std::atomic<bool>>(false);
  const auto ask = [&](const std::shared_ptr<std::atomic<bool>>& flag) {
    Lane lane{.name = "one", .unwanted = flag};
    lane.failed = [&](LaneFailure why) {
      ++(why == LaneFailure::unwanted ? unwanted : overloaded);
    };
    pool.run(std::move(lane), [&] { ++done; });
  };
  ask(is_gone);
  ask(is_gone);
  ask(is_never_gone);
  EXPECT_EQ(overloaded, 1) << "all places are taken";
  *is_gone = true;
  ask(is_never_gone);
  EXPECT_EQ(overloaded, 1);
  EXPECT_EQ(unwanted, 2);
  ask(is_gone);  // as if its flag was set only now
  gate.open();
  EXPECT_TRUE(eventually([&] { return unwanted == 3 && done == 1; }));
}

// At a stop: the work that is under way may take longer than the stop waits.
TEST(LanePool, WorkThatNobodyWaitsForCanFailBeforeItsTurn) {  // G6
  Gate gate;
  std::atomic<int> unwanted = 0;
  std::atomic<bool> done = false;
  LanePool::Bounds bounds = bounds_of(1, 1);
  bounds.hang_ms = 600'000;
  LanePool pool(bounds);
  pool.run({.name = "one"}, [&] { gate.wait(); });
  ASSERT_TRUE(eventually([&] { return gate.inside() == 1; }));
  const auto is_gone = std::make_shared<std::atomic<bool>>(false);
  Lane lane{.name = "one", .unwanted = is_gone};
  lane.failed = [&](LaneFailure why) { unwanted += why == LaneFailure::unwanted ? 1 : 100; };
  pool.run(std::move(lane), [&] { done = true; });
  pool.fail_unwanted();
  EXPECT_EQ(unwanted, 0);
  *is_gone = true;
  pool.fail_unwanted();
  EXPECT_EQ(unwanted, 1);
  gate.open();
  EXPECT_TRUE(pool.stop(CallBounds::never_ms).empty());
  EXPECT_FALSE(done);
}

TEST(LanePool, AllLanesTogetherAreBounded) {  // G7
  Gate gate;
  std::atomic<int> overloaded = 0;
  LanePool::Bounds bounds = bounds_of(1, 1);
  bounds.hang_ms = 600'000;
  bounds.waiting_max = 3;
  LanePool pool(bounds);
  pool.run({.name = "first"}, [&] { gate.wait(); });
  ASSERT_TRUE(eventually([&] { return gate.inside() == 1; }));
  for (int caller = 0; caller < 4; ++caller) {
    EXPECT_EQ(overloaded, 0);
    Lane lane{.name = "caller " + std::to_string(caller)};
    lane.failed = [&](LaneFailure) { ++overloaded; };
    pool.run(std::move(lane), [] {});
  }
  EXPECT_EQ(overloaded, 1);
  gate.open();
}

// Many repositories share few threads: the last one isn't late because the others take their time.
TEST(LanePool, ADeadlineThatCountsFromTheBeginningIsNotPassedInTheQueue) {  // G6
  Gate gate;
  std::atomic<int> late = 0;
  std::atomic<int> last_failed = 0;
  std::atomic<int> done = 0;
  LanePool::Bounds bounds = bounds_of(1, 1);
  bounds.hang_ms = 600'000;
  LanePool pool(bounds);
  pool.run({.name = "slow"}, [&] { gate.wait(); });
  ASSERT_TRUE(eventually([&] { return gate.inside() == 1; }));
  pool.run({.name = "last",
            .deadline_ms = 20,
            .counts_from_begin = true,
            .failed = [&](LaneFailure) { ++last_failed; }},
           [&] { ++done; });
  pool.run({.name = "other", .deadline_ms = 40, .failed = [&](LaneFailure) { ++late; }}, [] {});
  ASSERT_TRUE(eventually([&] { return late == 1; }));
  EXPECT_EQ(last_failed, 0);
  gate.open();
  EXPECT_TRUE(eventually([&] { return done == 1; }));
}

TEST(LanePool, WorkThatCannotBeginFailsWithItsLane) {  // G6
  Gate gate;
  std::atomic<int> late = 0;
  std::atomic<int> begun = 0;
  LanePool pool(bounds_of(1, 4));
  const auto lane = [&] {
    return Lane{
        .name = "hung", .deadline_ms = 20, .counts_from_begin = true, .failed = [&](LaneFailure) {
          ++late;
        }};
  };
  pool.run(lane(), [&] { gate.wait(); });
  pool.run(lane(), [&] { ++begun; });
  EXPECT_TRUE(eventually([&] { return late == 2; }));
  EXPECT_EQ(begun, 0);
  gate.open();
}

TEST(LanePool, ALaneAndThePoolAreBounded) {  // G6, P8
  Gate gate;
  std::atomic<int> overloaded = 0;
  const auto count = [&](LaneFailure why) { overloaded += why == LaneFailure::overloaded ? 1 : 0; };
  LanePool pool(bounds_of(2, 2));
  pool.run({.name = "one"}, [&] { gate.wait(); });
  ASSERT_TRUE(eventually([&] { return gate.inside() == 1; }));
  for (int number = 0; number < 5; ++number) {
    pool.run({.name = "one", .failed = count}, [] {});
  }
  EXPECT_EQ(overloaded, 3) << "two wait";
  pool.run({.name = "two"}, [&] { gate.wait(); });
  ASSERT_TRUE(eventually([&] { return gate.inside() == 2; }));
  EXPECT_TRUE(eventually([&] {
    const int before = overloaded;
    pool.run({.name = "three", .failed = count}, [] {});
    return overloaded > before;
  })) << "all threads hang";
  gate.open();
}

// A dead mount: each of its directories is a lane, and hangs.
TEST(LanePool, ADiskThatHangsKeepsNoOtherWaiting) {  // G6
  Gate gate;
  LanePool::Bounds bounds = bounds_of(1, 16);
  bounds.disk_working_max = 2;
  LanePool pool(bounds);
  std::atomic<int> refused = 0;
  for (int count = 0; count < 8; ++count) {
    const std::string name = std::to_string(count);
    Lane lane{.name = name, .path = "/proc/" + name};
    lane.failed = [&](LaneFailure why) {
      EXPECT_EQ(why, LaneFailure::overloaded);
      ++refused;
    };
    pool.run(std::move(lane), [&] { gate.wait(); });
  }
  EXPECT_TRUE(eventually([&] { return gate.inside() == 2 && refused == 6; }));
  std::atomic<bool> done = false;
  Lane other{.name = "other", .path = "/other"};
  other.failed = [](LaneFailure) { ADD_FAILURE() << "its disk doesn't hang"; };
  pool.run(std::move(other), [&] { done = true; });
  EXPECT_TRUE(eventually([&] { return done.load(); }));
  gate.open();
}

TEST(MountPoint, IsFoundByTheNameOfAPath) {  // G6
  EXPECT_EQ(mount_point_of("/proc"), "/proc");
  EXPECT_EQ(mount_point_of("/proc/1/no such file"), "/proc");
  EXPECT_NE(mount_point_of("/process"), "/proc");
  EXPECT_EQ(mount_point_of("/no such directory"), "");
}

TEST(LanePool, AStopCancelsCallsAndNamesWhatHangs) {  // G6
  Gate gate;
  std::atomic<bool> canceled = false;
  std::atomic<int> begun = 0;
  LanePool pool(bounds_of(2, 2));
  pool.run({.name = "git"}, [&] {
    ++begun;
    canceled = eventually([] { return CallBounds::is_canceled(); });
  });
  pool.run({.name = "disk"}, [&] { gate.wait(); });
  ASSERT_TRUE(eventually([&] { return gate.inside() == 1 && begun == 1; }));
  pool.run({.name = "disk"}, [&] { ++begun; });
  EXPECT_TRUE(eventually(
      [&] { return pool.stop(CallBounds::now_ms()) == std::vector<std::string>{"disk"}; }));
  EXPECT_TRUE(canceled);
  EXPECT_EQ(begun, 1) << "what has not begun is dropped";
  gate.open();
  EXPECT_TRUE(pool.stop(CallBounds::never_ms).empty());
}

TEST(CallBounds, TheEarliestDeadlineOfAThreadApplies) {  // G6
  EXPECT_EQ(CallBounds::deadline_ms(), CallBounds::never_ms);
  const CallBounds outer(100);
  {
    const std::atomic<bool> canceled = true;
    const CallBounds inner(200, &canceled);
    EXPECT_EQ(CallBounds::deadline_ms(), 100);
    EXPECT_TRUE(CallBounds::is_canceled());
  }
  EXPECT_FALSE(CallBounds::is_canceled());
  EXPECT_EQ(CallBounds::deadline_ms(), 100);
}

}  // namespace
}  // namespace signalbox
