// A start after a redaction whose erasure was interrupted.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "domain/free_text.h"
#include "projections/world_digest.h"
#include "projections/world_snapshot.h"
#include "server/engine/recovery.h"
#include "store/rocks_event_log.h"
#include "tests/domain/random_history.h"
#include "tests/domain/world_difference.h"
#include "tests/fixtures/temporary_directory.h"

namespace signalbox {
namespace {

constexpr const char* redacted_goal = "q7Zt0vXw4LbR9sKyJ2mNfHcPdGaE8uT5iQo1xWz6";

class RedactedRecovery : public ::testing::Test {
 protected:
  // Appends a history in which an open run has the goal, takes a snapshot of its end, and redacts
  // the goal. The process is killed there: its files are copied.
  void SetUp() override {
    RandomHistory history;
    for (int step = 0; step < 300; ++step) {
      history.take({static_cast<std::uint8_t>(step * 7), static_cast<std::uint8_t>(step % 5),
                    static_cast<std::uint8_t>(step * 11)});
    }
    auto log = RocksEventLog::open(data_.path(), {});
    ASSERT_TRUE(log) << log.error().message;
    World world;
    Redaction redaction;
    for (Record& record : history.records) {
      const auto* event = event_as<RunStarted>(record.event);
      if (event != nullptr && history.world.find_run(record.stream.run_id) != nullptr) {
        RunStarted started = *event;
        started.goal = redacted_goal;
        record.event = RunEvent(started);
        run_id_ = record.stream.run_id;
        redaction.position = record.position;
        redaction.replacement = without_free_texts(record.event, fields_, Blank::telling);
      }
      const Commit commit{record};
      ASSERT_EQ((*log)->append((*log)->tail(), {&commit, 1}).status, AppendStatus::ok);
      evolve(world, record);
    }
    ASSERT_NE(redaction.position, 0U);
    ASSERT_EQ(world.find_run(run_id_)->goal, redacted_goal);
    ASSERT_TRUE(write_snapshot(snapshots_directory(data_.path()), world, (*log)->frontier(),
                               world_digest(world)));
    PayloadRedacted event;
    event.redacted_position = redaction.position;
    event.event = RunStarted::tag.name;
    event.fields = fields_;
    redaction.note.position = (*log)->tail() + 1;
    redaction.note.stream = Stream::access();
    redaction.note.event = AccessEvent(event);
    const auto redacted = (*log)->redact((*log)->tail(), redaction);
    ASSERT_TRUE(redacted) << redacted.error().message;
    ASSERT_EQ(redacted->status, AppendStatus::ok);
    std::filesystem::copy(data_.path(), killed_.path(),
                          std::filesystem::copy_options::recursive |
                              std::filesystem::copy_options::overwrite_existing);
  }

  const std::vector<std::string> fields_{"goal"};
  TemporaryDirectory data_;
  TemporaryDirectory killed_;
  RunId run_id_{};
};

// K7: a snapshot from before the redaction has the text. It isn't used, and it is removed.
TEST_F(RedactedRecovery, UsesNoSnapshotThatHasTheText) {
  const auto recovered = recover(killed_.path());
  ASSERT_TRUE(recovered) << recovered.error().message;
  EXPECT_TRUE(recovered->log->report().erased_replaced);
  EXPECT_EQ(recovered->snapshot_position, 0U);
  EXPECT_FALSE(std::filesystem::exists(killed_ / "projections"));
  ASSERT_NE(recovered->world.find_run(run_id_), nullptr);
  EXPECT_EQ(recovered->world.find_run(run_id_)->goal, blanked_text);
  World folded;
  ASSERT_TRUE(recovered->log->scan(1, recovered->log->tail(), [&](Record&& record) {
    evolve(folded, record);
    return true;
  }));
  EXPECT_EQ(difference(recovered->world, folded), "");
  EXPECT_EQ(world_digest(recovered->world), world_digest(folded));
}

// Later starts have nothing to erase, and use their snapshots.
TEST_F(RedactedRecovery, UsesTheSnapshotsOfLaterStarts) {
  {
    const auto recovered = recover(killed_.path());
    ASSERT_TRUE(recovered) << recovered.error().message;
    ASSERT_TRUE(write_snapshot(snapshots_directory(killed_.path()), recovered->world,
                               recovered->log->frontier(), world_digest(recovered->world)));
    ASSERT_TRUE(recovered->log->close());
  }
  const auto recovered = recover(killed_.path());
  ASSERT_TRUE(recovered) << recovered.error().message;
  EXPECT_FALSE(recovered->log->report().erased_replaced);
  EXPECT_EQ(recovered->snapshot_position, recovered->log->tail());
  EXPECT_EQ(recovered->world.find_run(run_id_)->goal, blanked_text);
}

// Reading changes nothing: the next start still finds what it has to do.
TEST_F(RedactedRecovery, LeavesTheFilesToAWriter) {
  ASSERT_TRUE(RocksEventLog::open(killed_.path(), {.read_only = true}));
  EXPECT_TRUE(std::filesystem::exists(snapshots_directory(killed_.path())));
}

}  // namespace
}  // namespace signalbox
