// Sends the log's records to subscribers: from any position on and then live, in order and without
// gaps. A subscriber that doesn't keep up gets `lagged {from}` and is disconnected. The others
// aren't affected: the log is read for each at its own pace, and nothing is buffered for it.
//
// All of it is called on the engine's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/platform/blocking_pool.h"
#include "server/rpc/broadcasts.h"
#include "server/rpc/peer.h"
#include "store/event_log.h"

namespace signalbox {

inline constexpr std::size_t subscriber_outgoing_bytes_max = 1024 * 1024;
inline constexpr Position subscriber_lag_events_max = 100'000;
inline constexpr std::size_t subscriptions_max = 1000;

struct EventFilter {
  std::optional<RunId> run_id;
  std::set<std::string, std::less<>> types;  // of events and broadcasts, by name; empty: all

  [[nodiscard]] bool matches(const Record& record) const;
  // Returns true if the filter can match any broadcast; otherwise their state isn't kept.
  [[nodiscard]] bool wants_broadcasts() const;
  [[nodiscard]] bool wants_broadcast(std::string_view name) const;
};

class EventFeed {
 public:
  // `read_error` is called when the log can't be read for a subscriber, which is notified and
  // disconnected. `post` runs an action on the caller's thread.
  EventFeed(const EventLog& log, std::function<void(const StoreError&)> read_error, Post post)
      : log_(log), read_error_(std::move(read_error)), post_(std::move(post)) {}

  // Returns true if subscriptions_max is reached.
  [[nodiscard]] bool full() { return size() >= subscriptions_max; }

  // Subscribes `peer` to the records from `from` on. `broadcasts` has the state before that record.
  // With `hides_tokens`, fencing tokens are replaced by null (responder.h).
  void subscribe(std::shared_ptr<Peer> peer, std::string subscription, Position from,
                 EventFilter filter, Broadcasts broadcasts = Broadcasts(),
                 bool hides_tokens = false);

  // Sends the records of a batch of commits that has become durable.
  void publish(std::span<const Commit> batch);

  // Returns the number of subscribers whose connection is open.
  [[nodiscard]] std::size_t size() {
    drop_closed();
    return subscribers_.size();
  }

 private:
  struct Subscriber {
    std::shared_ptr<Peer> peer;
    std::string subscription;
    Position next = 1;
    EventFilter filter;
    Broadcasts broadcasts;
    bool hides_tokens = false;
    bool paused = false;     // until its peer has taken what is queued
    bool scheduled = false;  // pump() is posted
    bool caught_up = false;  // has reached the tail at least once
    bool ended = false;      // has got its last notification
  };

  void pump(const std::shared_ptr<Subscriber>& subscriber);
  void send(Subscriber& subscriber, const Record& record);
  void schedule_pump(const std::shared_ptr<Subscriber>& subscriber);
  static void end_lagging(Subscriber& subscriber);
  void end_unreadable(Subscriber& subscriber, const StoreError& error);
  void drop_closed();

  const EventLog& log_;
  std::function<void(const StoreError&)> read_error_;
  Post post_;
  std::vector<std::shared_ptr<Subscriber>> subscribers_;
};

}  // namespace signalbox
