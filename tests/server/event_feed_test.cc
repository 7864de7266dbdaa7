// Tests subscriptions to a log with a damaged record: a subscriber that needs that record gets an
// error and is closed; the others aren't affected.
#include "server/rpc/event_feed.h"

#include <gtest/gtest.h>

#include "store/entry.h"
#include "store/memory_event_log.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

constexpr Position damaged_position = 2;

// A log with one record that can't be read because it is damaged.
class DamagedLog final : public EventLog {
 public:
  [[nodiscard]] Position tail() const override { return whole_.tail(); }
  AppendResult append(Position expected_tail, std::span<const Commit> commits) override {
    return whole_.append(expected_tail, commits);
  }
  Stored<Position> scan(Position from, Position to, const Visit& visit) const override {
    if (from <= damaged_position && damaged_position <= to) {
      return tl::unexpected(damaged_at(damaged_position, "a flipped byte"));
    }
    return whole_.scan(from, to, visit);
  }
  [[nodiscard]] Stored<Commit> read_commit(Position position) const override {
    return whole_.read_commit(position);
  }
  Stored<AppendResult> redact(Position expected_tail, const Redaction& redaction) override {
    return whole_.redact(expected_tail, redaction);
  }
  [[nodiscard]] MerkleFrontier frontier() const override { return whole_.frontier(); }

 private:
  MemoryEventLog whole_;
};

TEST(EventFeed, WhoAsksForWhatIsDamagedIsToldAndNobodyElseNotices) {
  DamagedLog log;
  const auto append = [&log](std::size_t count) {
    std::vector<Commit> batch;
    for (std::size_t index = 0; index < count; ++index) {
      Record record;
      record.position = log.tail() + 1 + index;
      record.event = ServerStarted{};
      batch.push_back({record});
    }
    EXPECT_EQ(log.append(log.tail(), batch).status, AppendStatus::ok);
    return batch;
  };
  append(3);
  std::vector<std::string> errors;
  EventFeed feed(
      log, [&errors](const StoreError& error) { errors.push_back(error.message); },
      BlockingPool(at_once, at_once));
  const auto late = std::make_shared<ListeningPeer>();
  const auto early = std::make_shared<ListeningPeer>();
  feed.subscribe(late, "late", 4, {});
  feed.subscribe(early, "early", 1, {});
  ASSERT_EQ(early->delivered.size(), 1U);
  const auto failed = boost::json::parse(early->delivered[0]).as_object();
  EXPECT_EQ(failed.at("method"), "failed");
  EXPECT_EQ(failed.at("params").at("code"), "STORAGE_DAMAGED");
  EXPECT_EQ(failed.at("params").at("subscription"), "early");
  EXPECT_EQ(failed.at("params").at("from"), 1);
  EXPECT_TRUE(early->is_closed);
  EXPECT_EQ(errors.size(), 1U);
  feed.publish(append(2));
  EXPECT_EQ(late->delivered.size(), 2U);
  EXPECT_EQ(feed.size(), 1U);
}

}  // namespace
}  // namespace signalbox
