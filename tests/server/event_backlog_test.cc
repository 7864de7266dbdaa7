// Tests how old events reach subscribers: never by reading on the engine's thread, in bounded
// turns, in order and without gaps when the live events begin. G7
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <iostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "server/limits.h"
#include "server/rpc/event_feed.h"
#include "store/memory_event_log.h"
#include "tests/fixtures/random_seed.h"
#include "tests/fixtures/wrapped_log.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

// A log that notes how many records each scan visits.
class CountedLog final : public test::WrappedLog {
 public:
  Stored<Position> scan(Position from, Position to, const Visit& visit) const override {
    scanned.emplace_back();
    return WrappedLog::scan(from, to, [&](Record&& record) {
      ++scanned.back();
      return visit(std::move(record));
    });
  }

  mutable std::vector<std::size_t> scanned;  // records of each scan
};

class EventBacklog : public ::testing::Test {
 protected:
  std::vector<Commit> append(std::size_t count) {
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
  std::shared_ptr<ListeningPeer> subscribe(Position from, const std::string& type) {
    auto peer = std::make_shared<ListeningPeer>();
    EventFilter filter;
    filter.types = {type};
    feed.subscribe(peer, "subscription " + std::to_string(++subscriptions),
                   {from, log.horizon().dropped_at}, filter);
    return peer;
  }
  // Does one reading, as a thread of the pool would, and what follows from it.
  void read_once() {
    const auto action = std::move(readings.front());
    readings.pop_front();
    action();
  }
  static std::vector<Position> positions(const ListeningPeer& peer) {
    std::vector<Position> found;
    for (const std::string& line : peer.delivered) {
      const auto params = boost::json::parse(line).at("params");
      found.push_back(params.at("position").to_number<Position>());
    }
    return found;
  }
  static std::vector<Position> all_up_to(Position last) {
    std::vector<Position> all;
    for (Position position = 1; position <= last; ++position) all.push_back(position);
    return all;
  }

  CountedLog log;
  std::deque<std::function<void()>> readings;
  int subscriptions = 0;
  EventFeed feed{
      log, [](const StoreError& error) { ADD_FAILURE() << error.message; },
      BlockingPool([this](std::function<void()> action) { readings.push_back(std::move(action)); },
                   at_once)};
};

TEST_F(EventBacklog, TheEnginesThreadReadsNothingAndATurnIsBounded) {  // G7
  constexpr std::size_t events = 5 * limits::backlog_read_events_max + 7;
  append(events);
  std::vector<std::shared_ptr<ListeningPeer>> peers;
  for (int count = 0; count < 50; ++count) peers.push_back(subscribe(1, "RunStarted"));
  EXPECT_TRUE(log.scanned.empty()) << "subscribing reads no event";
  while (!readings.empty()) {
    EXPECT_LE(readings.size(), limits::backlog_readers_max);
    feed.publish(append(1));
    read_once();
  }
  ASSERT_FALSE(log.scanned.empty());
  EXPECT_LE(*std::max_element(log.scanned.begin(), log.scanned.end()),
            limits::backlog_read_events_max);
  const std::size_t begun = log.scanned.size();
  feed.publish(append(1));
  EXPECT_EQ(log.scanned.size(), begun) << "all are live now: nothing is read for a new event";
  EXPECT_TRUE(readings.empty());
  for (const auto& peer : peers) EXPECT_TRUE(peer->delivered.empty());
}

TEST_F(EventBacklog, ADeliveryIsBoundedAndSubscribersTakeTurns) {  // G7
  append(10 * limits::backlog_sent_events_max);
  const auto first = subscribe(1, "ServerStarted");
  const auto second = subscribe(1, "ServerStarted");
  const auto third = subscribe(1, "ServerStarted");
  std::size_t least = 0;
  while (!readings.empty()) {
    const std::size_t before =
        first->delivered.size() + second->delivered.size() + third->delivered.size();
    read_once();
    const std::size_t after =
        first->delivered.size() + second->delivered.size() + third->delivered.size();
    EXPECT_LE(after - before, limits::backlog_sent_events_max);
    const auto [low, high] =
        std::minmax({first->delivered.size(), second->delivered.size(), third->delivered.size()});
    EXPECT_LE(high - low, 2 * limits::backlog_sent_events_max) << "nobody is left behind";
    least = low;
  }
  EXPECT_EQ(least, 10 * limits::backlog_sent_events_max);
}

TEST_F(EventBacklog, NothingIsMissingOrDoubledWhenTheLiveEventsBegin) {  // G7
  append(3 * limits::backlog_sent_events_max);
  const auto peer = subscribe(1, "ServerStarted");
  for (int count = 0; count < 20; ++count) {
    const auto batch = append(2);  // durable, and read for the subscriber before it is published
    if (count % 3 == 0 && !readings.empty()) read_once();
    feed.publish(batch);
    if (count % 2 == 0 && !readings.empty()) read_once();
  }
  while (!readings.empty()) read_once();
  EXPECT_EQ(positions(*peer), all_up_to(log.tail()));
  feed.publish(append(2));
  EXPECT_TRUE(readings.empty());
  EXPECT_EQ(positions(*peer), all_up_to(log.tail()));
}

// Events are durable before they are published; meanwhile others subscribe, stop reading, go on,
// and what is read for them comes late.
TEST_F(EventBacklog, WhoReadsNowAndThenMissesNothingAndGetsNothingTwice) {  // G7
  const std::uint64_t seed = random_seed();
  std::cout << "again with: SIGNALBOX_SEED=" << seed << std::endl;
  std::mt19937_64 random(seed);
  struct Follower {
    std::shared_ptr<ListeningPeer> peer;
    Position from;
  };
  std::vector<Follower> followers;
  std::deque<std::vector<Commit>> unpublished;
  const auto publish_next = [&] {
    if (unpublished.empty()) return;
    feed.publish(unpublished.front());
    unpublished.pop_front();
  };
  const auto go_on_reading = [](ListeningPeer& peer) {
    peer.outgoing = 0;
    if (const auto drained = std::exchange(peer.drained, nullptr)) drained();
  };
  for (int step = 0; step < 1000; ++step) {
    const std::uint64_t choice = random() % 10;
    if (choice < 3) {
      unpublished.push_back(append(1 + random() % 40));
    } else if (choice < 6) {
      publish_next();
    } else if (choice < 8) {
      if (!readings.empty()) read_once();
    } else if (choice == 8 && followers.size() < 10) {
      const Position from = 1 + random() % (log.tail() + 1);
      followers.push_back({subscribe(from, "ServerStarted"), from});
    } else if (!followers.empty()) {
      ListeningPeer& peer = *followers[random() % followers.size()].peer;
      if (peer.outgoing > subscriber_outgoing_bytes_max) {
        go_on_reading(peer);
      } else {
        peer.outgoing = subscriber_outgoing_bytes_max + 1;
      }
    }
  }
  while (!unpublished.empty()) publish_next();
  for (bool is_over = false; !is_over;) {
    for (const Follower& each : followers) go_on_reading(*each.peer);
    is_over = readings.empty();
    if (!is_over) read_once();
  }
  for (const Follower& each : followers) {
    std::vector<Position> owed = all_up_to(log.tail());
    owed.erase(owed.begin(), owed.begin() + static_cast<std::ptrdiff_t>(each.from - 1));
    EXPECT_EQ(positions(*each.peer), owed) << "from " << each.from;
  }
}

TEST_F(EventBacklog, WhoDisconnectsIsReadForNoMore) {  // G7
  append(10 * limits::backlog_read_events_max);
  const auto gone = subscribe(1, "RunStarted");
  read_once();
  gone->is_closed = true;
  read_once();
  EXPECT_TRUE(readings.empty());
  EXPECT_EQ(log.scanned.size(), 2U);
  EXPECT_EQ(feed.size(), 0U);
}

}  // namespace
}  // namespace signalbox
