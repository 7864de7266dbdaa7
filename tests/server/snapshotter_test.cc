// Snapshots while a redaction is under way.
#include "server/followers/snapshotter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

#include "projections/world_snapshot.h"
#include "store/memory_event_log.h"
#include "tests/domain/random_history.h"
#include "tests/eventually.h"
#include "tests/fixtures/temporary_directory.h"

namespace signalbox {
namespace {

class SnapshotterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    RandomHistory history;
    for (int step = 0; step < 100; ++step) {
      history.take({static_cast<std::uint8_t>(step * 7), static_cast<std::uint8_t>(step % 5),
                    static_cast<std::uint8_t>(step * 11)});
    }
    for (const Record& record : history.records) {
      const Commit commit{record};
      ASSERT_EQ(log_.append(log_.tail(), {&commit, 1}).status, AppendStatus::ok);
    }
  }
  [[nodiscard]] bool has_snapshot() const {
    return load_newest_snapshot(snapshots_, log_.tail()).snapshot.has_value();
  }

  TemporaryDirectory directory_;
  const std::filesystem::path snapshots_ = directory_ / "snapshots";
  MemoryEventLog log_;
  std::atomic<int> made_ = 0;
  Snapshotter snapshotter_{log_, snapshots_, 1, 0,
                           [this](bool ok, const std::string&) { made_ += ok ? 1 : 0; }};
};

// K7: while it is suspended there is no snapshot, and none is made.
TEST_F(SnapshotterTest, KeepsNoneWhileItIsSuspended) {
  snapshotter_.offer(log_.frontier());
  EXPECT_TRUE(eventually([&] { return made_ == 1; }));
  EXPECT_TRUE(has_snapshot());
  for (int round = 1; round <= 3; ++round) {
    ASSERT_TRUE(snapshotter_.suspend());
    EXPECT_FALSE(std::filesystem::exists(snapshots_));
    const int made = made_;
    snapshotter_.offer(log_.frontier());
    ASSERT_TRUE(snapshotter_.suspend()) << "a second time, which changes nothing";
    EXPECT_FALSE(std::filesystem::exists(snapshots_));
    snapshotter_.resume();
    // The next one doesn't wait for as many records as usual.
    EXPECT_TRUE(eventually([&] {
      snapshotter_.offer(log_.frontier());
      return made_ > made;
    }));
    EXPECT_TRUE(has_snapshot());
  }
}

// One that is being made is given up, or removed after it was made.
TEST_F(SnapshotterTest, GivesUpTheOneThatItMakes) {
  for (int round = 0; round < 20; ++round) {
    snapshotter_.resume();
    snapshotter_.offer(log_.frontier());
    ASSERT_TRUE(snapshotter_.suspend());
    EXPECT_FALSE(std::filesystem::exists(snapshots_));
  }
}

}  // namespace
}  // namespace signalbox
