// Sends the log's records to subscribers: from any position on and then live, in order and without
// gaps, but for peers that skip what is more than anybody reads (Peer::takes_records). A subscriber
// that doesn't keep up gets `lagged {from}` and is disconnected. The others
// aren't affected: the log is read for each at its own pace, and nothing is buffered for it.
//
// All of it is called on the engine's thread. Old records are read and filtered on other threads, a
// bounded number at a time: subscribers take turns, and a few of them are read for at once. A
// subscriber that has reached the tail gets new records from publish().
#pragma once

#include <cstdint>
#include <deque>
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
  std::set<std::string, std::less<>> types;    // of events and broadcasts, by name; empty: all
  std::optional<Uuid> span_id = std::nullopt;  // of a run with its attempts, or of one attempt
  std::optional<std::string> stream = {};      // as records are shown: "lock/deploy"
  std::optional<std::string> actor = {};
  bool has_broadcasts = true;  // if `types` doesn't say which

  [[nodiscard]] bool matches(const Record& record) const;
  // Returns true if the filter can match a broadcast that Broadcasts makes; otherwise their state
  // isn't kept.
  [[nodiscard]] bool wants_broadcasts() const;
  [[nodiscard]] bool wants(const Broadcast& broadcast) const;
  [[nodiscard]] bool wants_attention() const;
};

class EventFeed {
 public:
  // `read_error` is called when the log can't be read for a subscriber, which is notified and
  // disconnected. `readers` has backlog_readers_max threads.
  EventFeed(const EventLog& log, std::function<void(const StoreError&)> read_error,
            BlockingPool readers)
      : log_(log), read_error_(std::move(read_error)), readers_(std::move(readers)) {}

  // Returns true if subscriptions_max is reached.
  [[nodiscard]] bool full() { return size() >= subscriptions_max; }

  // Closes the connections of subscribers whose peers have gone, or have ended their output over
  // TCP, which looks the same, except `asking`: those of its caller, who needs their places, or of
  // all callers.
  void close_gone(const Peer& asking, bool of_all_callers);

  struct Start {
    Position from = 0;
    // Of the log's horizon when it was decided that the records from there on are there: whoever
    // begins later must not miss what was dropped since.
    Position dropped_at = 0;
  };
  // Subscribes `peer` to the records from `start` on. `broadcasts` has applied no record yet.
  // With `hides_tokens`, what hide_tokens() hides is null (responder.h). `caller` is the actor who
  // subscribed.
  void subscribe(std::shared_ptr<Peer> peer, std::string subscription, const Start& start,
                 EventFilter filter, Broadcasts broadcasts = Broadcasts(),
                 bool hides_tokens = false, std::string caller = {});

  // Closes the connections of subscribers whose rights have ended: those of callers for which this
  // returns true.
  void close_of(const std::function<bool(const std::string& caller)>& is_meant);

  // The same, for subscribers of which it was true at the call before already: what such a caller
  // asked for last, which may have ended its own rights, is answered first.
  void close_ended(const std::function<bool(const std::string& caller)>& has_ended);

  // Sends the records of a batch of commits that has become durable.
  void publish(std::span<const Commit> batch);

  // Makes later broadcasts show no text that was redacted.
  void renew_facts();

  // Returns the number of subscribers whose connection is open.
  [[nodiscard]] std::size_t size() {
    drop_closed();
    return subscribers_.size();
  }

 private:
  struct Subscriber {
    std::shared_ptr<Peer> peer;
    std::string subscription;
    std::string caller;
    Position from = 1;  // of the first record that is sent; broadcasts apply some before
    EventFilter filter;
    Broadcasts broadcasts;
    bool hides_tokens = false;
    Position dropped_at = 0;    // of the log's horizon when it subscribed
    Position next = 1;          // the first record that wasn't read for it
    bool paused = false;        // until its peer has taken what is queued
    bool reading = false;       // it waits for its turn to be read for, or is read for
    bool caught_up = false;     // has reached the tail at least once
    bool ended = false;         // has got its last notification
    bool rights_ended = false;  // at the latest close_ended()
  };
  // What was read for a subscriber.
  struct Backlog {
    std::vector<Record> records;  // those that its filter or its broadcasts may want
    Position next = 1;            // the record after the last one that was read
    std::optional<StoreError> error;
  };

  static Backlog read_backlog(const EventLog& log, Position next, Position from,
                              Position dropped_at, const EventFilter& filter);
  // Arranges that the subscriber is read for, unless it has everything or its peer has to read
  // some first.
  void pump(const std::shared_ptr<Subscriber>& subscriber);
  void begin_reads();
  void finish_read(const std::shared_ptr<Subscriber>& subscriber, const Backlog& backlog);
  void send(Subscriber& subscriber, ShownRecord& shown);
  static void end_lagging(Subscriber& subscriber);
  // Returns true, and goes on behind the records `first` to `last`, if the peer skips them.
  static bool skips(Subscriber& subscriber, std::size_t count, Position first, Position last);
  void end_unreadable(Subscriber& subscriber, const StoreError& error);
  void drop_closed();

  const EventLog& log_;
  std::function<void(const StoreError&)> read_error_;
  BlockingPool readers_;
  std::vector<std::shared_ptr<Subscriber>> subscribers_;
  std::deque<std::shared_ptr<Subscriber>> turns_;  // the next one to be read for is first
  std::size_t reads_ = 0;                          // under way
};

}  // namespace signalbox
