// Gives subscribers the records of the log, from any position and then live, in order and without
// gaps. A subscriber who doesn't keep up is told `lagged {from}` and let go; the others don't
// notice: each is read for from the log at its own pace, and nothing piles up for it.
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
  // Whether it can want any: else what they need isn't kept.
  [[nodiscard]] bool wants_broadcasts() const;
  [[nodiscard]] bool wants_broadcast(std::string_view name) const;
};

class EventFeed {
 public:
  // `read_error` gets what goes wrong when the log is read for a subscriber, who is told and let
  // go, and `post` brings an action to the caller's thread.
  EventFeed(const EventLog& log, std::function<void(const StoreError&)> read_error, Post post)
      : log_(log), read_error_(std::move(read_error)), post_(std::move(post)) {}

  // No more can subscribe.
  [[nodiscard]] bool full() { return size() >= subscriptions_max; }

  // Starts with the record at `from`. `broadcasts` knows what was before it.
  void subscribe(std::shared_ptr<Peer> peer, std::string subscription, Position from,
                 EventFilter filter, Broadcasts broadcasts = Broadcasts());

  // The records up to batch's last one are durable.
  void publish(std::span<const Commit> batch);

  // Of those who are still there.
  [[nodiscard]] std::size_t size() {
    sweep();
    return subscribers_.size();
  }

 private:
  struct Subscriber {
    std::shared_ptr<Peer> peer;
    std::string subscription;
    Position next = 1;
    EventFilter filter;
    Broadcasts broadcasts;
    bool paused = false;     // waits for its peer to take what is queued
    bool scheduled = false;  // goes on in a moment
    bool caught_up = false;  // has had everything up to the tail at least once
    bool let_go = false;     // has had its last word
  };

  void pump(const std::shared_ptr<Subscriber>& subscriber);
  void send(Subscriber& subscriber, const Record& record);
  void go_on_later(const std::shared_ptr<Subscriber>& subscriber);
  static void let_go(Subscriber& subscriber);
  void end_unread(Subscriber& subscriber, const StoreError& error);
  void sweep();

  const EventLog& log_;
  std::function<void(const StoreError&)> read_error_;
  Post post_;
  std::vector<std::shared_ptr<Subscriber>> subscribers_;
};

}  // namespace signalbox
