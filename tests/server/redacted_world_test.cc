// The world of a redacted log is folded while the engine goes on.
#include "server/engine/redacted_world.h"

#include <gtest/gtest.h>

#include "domain/free_text.h"
#include "projections/world_digest.h"
#include "tests/domain/world_difference.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

class RedactedWorldTest : public ::testing::Test, protected RpcSite {
 protected:
  // Applies a command with one event, which isn't committed.
  void start(const std::string& goal) {
    StartRun command;
    command.goal = goal;
    command.pipeline = default_pipeline();
    command.run_id = ids.next_run_id(0);
    auto transaction = engine.begin({"uid:1", {}, {}});
    ASSERT_TRUE(transaction.apply(command));
    records.insert(records.end(), transaction.records().begin(), transaction.records().end());
  }

  std::vector<Record> records;  // all that were applied
};

// K7: it is the same as the world of a replay after the redaction, also with what was applied while
// it was folded.
TEST_F(RedactedWorldTest, EqualsThatOfAReplay) {
  for (const char* goal : {"one", "a secret", "three"}) start(goal);
  commit_all();
  const Event replacement =
      without_free_texts(records[1].event, free_text_fields(records[1].event), Blank::telling);
  RedactedWorld redacted(log, 2, replacement);
  std::atomic<bool> stopped = false;
  ASSERT_TRUE(redacted.follow(log.tail(), stopped));
  start("four");
  commit_all();
  ASSERT_TRUE(redacted.follow(log.tail(), stopped));
  start("five");
  start("six");
  redacted.apply(records);
  ASSERT_EQ(redacted.position(), engine.world().position);
  { const World former = engine.exchange_world(redacted.take()); }
  commit_all();

  Redaction redaction{2, replacement, {}};
  redaction.note.position = log.tail() + 1;
  redaction.note.stream = Stream::access();
  PayloadRedacted event;
  event.redacted_position = 2;
  redaction.note.event = AccessEvent(event);
  const Position tail = log.tail();
  ASSERT_TRUE(log.redact(tail, redaction));
  World replayed;
  ASSERT_TRUE(log.scan(1, tail, [&](Record&& record) {
    evolve(replayed, record);
    return true;
  }));
  EXPECT_EQ(difference(engine.world(), replayed), "");
  EXPECT_EQ(world_digest(engine.world()), world_digest(replayed));
}

TEST_F(RedactedWorldTest, EndsWhenTheServiceStops) {
  start("one");
  commit_all();
  RedactedWorld redacted(log, 1, records[0].event);
  const std::atomic<bool> stopped = true;
  EXPECT_FALSE(redacted.follow(log.tail(), stopped));
}

}  // namespace
}  // namespace signalbox
