// Tests subscriptions to a log that lacks records, because one is damaged or some were dropped: a
// subscriber that needs them gets an error and is closed; the others aren't affected.
#include "server/rpc/event_feed.h"

#include <gtest/gtest.h>

#include "store/entry.h"
#include "store/memory_event_log.h"
#include "tests/fixtures/wrapped_log.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

constexpr Position damaged_position = 2;

// A log with one record that can't be read because it is damaged, and others that are dropped when
// the test says so.
class DamagedLog final : public test::WrappedLog {
 public:
  Stored<Position> scan(Position from, Position to, const Visit& visit) const override {
    if (from <= dropped.position) return tl::unexpected(dropped_record(from, dropped));
    if (from <= damaged_position && damaged_position <= to) {
      return tl::unexpected(damaged_at(damaged_position, "a flipped byte"));
    }
    return WrappedLog::scan(from, to, visit);
  }
  [[nodiscard]] Horizon horizon() const override { return dropped; }

  Horizon dropped;
};

std::vector<Commit> append_starts(EventLog& log, std::size_t count) {
  std::vector<Commit> batch;
  for (std::size_t index = 0; index < count; ++index) {
    Record record;
    record.position = log.tail() + 1 + index;
    record.event = ServerStarted{};
    batch.push_back({record});
  }
  EXPECT_EQ(log.append(log.tail(), batch).status, AppendStatus::ok);
  return batch;
}

TEST(EventFeed, WhoAsksForWhatIsDamagedIsToldAndNobodyElseNotices) {
  DamagedLog log;
  append_starts(log, 3);
  std::vector<std::string> errors;
  EventFeed feed(
      log, [&errors](const StoreError& error) { errors.push_back(error.message); },
      BlockingPool(at_once, at_once));
  const auto late = std::make_shared<ListeningPeer>();
  const auto early = std::make_shared<ListeningPeer>();
  feed.subscribe(late, "late", {4}, {});
  feed.subscribe(early, "early", {1}, {});
  ASSERT_EQ(early->delivered.size(), 1U);
  const auto failed = boost::json::parse(early->delivered[0]).as_object();
  EXPECT_EQ(failed.at("method"), "failed");
  EXPECT_EQ(failed.at("params").at("code"), "STORAGE_DAMAGED");
  EXPECT_EQ(failed.at("params").at("subscription"), "early");
  EXPECT_EQ(failed.at("params").at("from"), 1);
  EXPECT_TRUE(early->is_closed);
  EXPECT_EQ(errors.size(), 1U);
  feed.publish(append_starts(log, 2));
  EXPECT_EQ(late->delivered.size(), 2U);
  EXPECT_EQ(feed.size(), 1U);
}

// A record is made into JSON once for all who follow the log: nobody may get what is another's.
TEST(EventFeed, EachFollowerHasItsOwnSubscriptionAndSeesTheTokensThatItMay) {  // C6 G4
  MemoryEventLog log;
  EventFeed feed(
      log, [](const StoreError&) {}, BlockingPool(at_once, at_once));
  std::vector<std::shared_ptr<ListeningPeer>> peers;
  for (const bool hides_tokens : {true, false, true, false}) {
    peers.push_back(std::make_shared<ListeningPeer>());
    feed.subscribe(peers.back(), std::to_string(peers.size()), {1}, {}, Broadcasts(), hides_tokens);
  }
  Record record;
  record.position = 1;
  record.stream = {StreamKind::lock, {}, "deploy"};
  LockReleased released;
  released.token = 7;
  record.event = released;
  const std::vector<Commit> batch{{record}};
  ASSERT_EQ(log.append(0, batch).status, AppendStatus::ok);
  feed.publish(batch);
  for (std::size_t each = 0; each < peers.size(); ++each) {
    ASSERT_EQ(peers[each]->delivered.size(), 1U);
    const auto params = boost::json::parse(peers[each]->delivered[0]).at("params").as_object();
    EXPECT_EQ(std::string(params.at("subscription").as_string()), std::to_string(each + 1));
    EXPECT_EQ(params.at("data").at("token").is_null(), each % 2 == 0);
  }
}

TEST(EventFeed, WhoMissesDroppedRecordsIsToldWhereTheLogGoesOn) {
  DamagedLog log;
  append_starts(log, 4);
  EventFeed feed(
      log, [](const StoreError&) {}, BlockingPool(at_once, at_once));
  const auto slow = std::make_shared<ListeningPeer>();
  slow->outgoing = subscriber_outgoing_bytes_max + 1;  // nothing is read for it yet
  feed.subscribe(slow, "slow", {1}, {});
  log.dropped.position = 3;
  log.dropped.dropped_at = 4;
  slow->outgoing = 0;
  slow->drained();
  ASSERT_EQ(slow->delivered.size(), 1U);
  const auto failed = boost::json::parse(slow->delivered[0]).as_object();
  EXPECT_EQ(failed.at("method"), "failed");
  EXPECT_EQ(failed.at("params").at("code"), "HISTORY_DROPPED");
  EXPECT_EQ(failed.at("params").at("from"), 1);
  EXPECT_EQ(failed.at("params").at("horizon"), 3);
}

// The subscription waits until what was decided before it is durable.
TEST(EventFeed, WhatIsDroppedBeforeASubscriptionBeginsIsMissed) {
  DamagedLog log;
  append_starts(log, 4);
  const EventFeed::Start start{1, log.horizon().dropped_at};
  log.dropped.position = 3;
  log.dropped.dropped_at = 4;
  EventFeed feed(
      log, [](const StoreError&) {}, BlockingPool(at_once, at_once));
  const auto late = std::make_shared<ListeningPeer>();
  feed.subscribe(late, "late", start, {});
  ASSERT_EQ(late->delivered.size(), 1U);
  const auto failed = boost::json::parse(late->delivered[0]).as_object();
  EXPECT_EQ(failed.at("params").at("code"), "HISTORY_DROPPED");
}

// Its connection looks closed, or as if its output had ended.
class LeavingPeer final : public ListeningPeer {
 public:
  [[nodiscard]] bool has_gone(bool counts_end_of_output) override {
    return is_closed || (leaves && counts_end_of_output);
  }
  [[nodiscard]] std::string_view counted_caller() const override { return caller; }
  bool leaves = false;
  std::string caller = "token:one";
};

TEST(EventFeed, WhoHasGoneGivesItsPlaceToWhoAsks) {  // G5
  MemoryEventLog log;
  EventFeed feed(
      log, [](const StoreError&) {}, BlockingPool(at_once, at_once));
  std::vector<std::shared_ptr<LeavingPeer>> peers;
  for (int number = 0; number < 3; ++number) {
    peers.push_back(std::make_shared<LeavingPeer>());
    feed.subscribe(peers.back(), "s", {1}, {});
  }
  peers[0]->leaves = true;
  peers[1]->leaves = true;
  feed.close_gone(*peers[1], /*of_all_callers=*/false);
  EXPECT_TRUE(peers[0]->closed());
  EXPECT_FALSE(peers[1]->closed()) << "it asks";
  EXPECT_FALSE(peers[2]->closed()) << "it is there";
  EXPECT_EQ(feed.size(), 2U);
  // A caller that has too many itself is no reason to close what is another's.
  peers[2]->leaves = true;
  peers[2]->caller = "token:other";
  feed.close_gone(*peers[1], /*of_all_callers=*/false);
  EXPECT_FALSE(peers[2]->closed());
  feed.close_gone(*peers[1], /*of_all_callers=*/true);
  EXPECT_TRUE(peers[2]->closed());
}

TEST(EventFeed, WhoFallsTooFarBehindIsToldWhereToGoOn) {  // G7, P8
  MemoryEventLog log;
  EventFeed feed(
      log, [](const StoreError& error) { ADD_FAILURE() << error.message; },
      BlockingPool(at_once, at_once));
  const auto slow = std::make_shared<ListeningPeer>();
  feed.subscribe(slow, "slow", {1}, {});
  feed.publish(append_starts(log, 1));
  ASSERT_EQ(slow->delivered.size(), 1U);
  slow->outgoing = subscriber_outgoing_bytes_max + 1;  // it reads nothing more
  feed.publish(append_starts(log, subscriber_lag_events_max));
  EXPECT_FALSE(slow->is_closed) << "that many may wait";
  feed.publish(append_starts(log, 1));
  EXPECT_TRUE(slow->is_closed);
  ASSERT_EQ(slow->delivered.size(), 2U);
  const auto lagged = boost::json::parse(slow->delivered[1]).as_object();
  EXPECT_EQ(lagged.at("method"), "lagged");
  EXPECT_EQ(lagged.at("params").at("from"), 2);
}

}  // namespace
}  // namespace signalbox
