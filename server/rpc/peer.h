// The other end of a connection, as an interface for methods. Each transport implements it.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "domain/ids.h"

namespace signalbox {

class ShownRecord;

// A record for one subscription.
struct RecordNotice {
  ShownRecord& record;
  std::string_view subscription;
  bool hides_tokens = false;        // as in RecordForm
  bool is_last_of_position = true;  // no broadcast about the record follows
};

class Peer {
 public:
  static constexpr std::size_t every_record = std::numeric_limits<std::size_t>::max();

  virtual ~Peer() = default;

  // Announces a request for which answer() will be called exactly once, now or later. `weight` is
  // its share of commands_in_flight_max.
  virtual void expect_answer(std::size_t weight) = 0;
  // Queues the answer to a request that was announced with this weight: one line without its line
  // break, or an empty string for a notification. The answer is dropped if the connection is
  // closed.
  virtual void answer(std::string line, std::size_t weight) = 0;
  // Queues a line that is no answer, such as an event.
  virtual void deliver(std::string line) = 0;
  // Returns false if the transport can send answers only; deliver() is never called then.
  [[nodiscard]] virtual bool takes_deliveries() const { return true; }
  // Delivers a notification of a subscription, as a JSON-RPC line unless the transport overrides
  // that. `is_last_of_position` is false if another notification about the same event follows.
  virtual void notify(std::string_view method, const boost::json::object& params,
                      bool is_last_of_position);
  // Delivers a record, the notification `event` of a subscription, in the same way.
  virtual void notify_record(const RecordNotice& notice);
  // Returns whether the peer takes so many new records at once, from `first` to `last`; false if it
  // skips them, since more come than anybody looks at, and says so to whoever reads.
  virtual bool takes_records(std::size_t count, Position first, Position last) {
    (void)count, (void)first, (void)last;
    return true;
  }
  // Returns how many records the peer takes in a second; it skips others.
  [[nodiscard]] virtual std::size_t records_per_second_max() const { return every_record; }
  // Keeps the connection open after its input has ended and all requests are answered.
  virtual void keep_open() = 0;
  // Counts the connection to this caller, who has authenticated. Returns false if the caller has
  // too many connections; this one closes after the next answer.
  virtual bool identify(const std::string& actor) {
    (void)actor;
    return true;
  }
  // Counts a subscription to the connection's caller. Returns false if there are too many.
  virtual bool take_subscription() { return true; }
  // Counts that the connection's caller was refused a subscription.
  virtual void count_refused_subscription() {}
  // Returns whether the caller has all the subscriptions that one may have.
  [[nodiscard]] virtual bool is_caller_full() const { return false; }
  // Returns the caller that the connection is counted to; empty if it isn't counted.
  [[nodiscard]] virtual std::string_view counted_caller() const { return {}; }
  // Uses this access token for the connection's further requests. Returns false if each request has
  // to bring its own, as over HTTP.
  virtual bool use_token(const Uuid& token_id) {
    (void)token_id;
    return false;
  }
  // Uses the job of this id as the sender of the connection's further requests, as use_token()
  // does.
  virtual bool use_job(const std::string& job_id) {
    (void)job_id;
    return false;
  }
  // Returns the bytes that are queued and that the kernel hasn't taken yet.
  [[nodiscard]] virtual std::size_t outgoing_bytes() const = 0;
  // Calls `action` once, when the queue becomes empty the next time.
  virtual void on_drained(std::function<void()> action) = 0;
  // Closes the connection once the queue is empty, or after a few seconds.
  virtual void close_after_flush() = 0;
  // Closes the connection now, whatever is queued.
  virtual void close_now() { close_after_flush(); }
  [[nodiscard]] virtual bool closed() const = 0;
  // Returns true if nobody reads an answer any more: the peer has closed the connection, even if
  // that wasn't noticed yet. Over TCP that looks as if it had only ended its output, and then it
  // may still read: `counts_end_of_output` says whether that counts.
  [[nodiscard]] virtual bool has_gone(bool counts_end_of_output) {
    (void)counts_end_of_output;
    return closed();
  }
};

}  // namespace signalbox
