// The other end of a connection, as far as methods need it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "domain/ids.h"

namespace signalbox {

class Peer {
 public:
  virtual ~Peer() = default;

  // A request was taken that answer() will be called for, once, now or later. `weight` is its part
  // of commands_in_flight_max.
  virtual void expect_answer(std::size_t weight) = 0;
  // Queues the answer to a request that was expected with this weight: one line, without its line
  // break; none (empty) for a notification. Lost if the connection is gone.
  virtual void answer(std::string line, std::size_t weight) = 0;
  // Queues a line that nobody asked for (an event).
  virtual void deliver(std::string line) = 0;
  // False where only answers can be sent: then nothing is ever delivered.
  [[nodiscard]] virtual bool takes_deliveries() const { return true; }
  // Delivers a notification of an event feed, as a line unless the transport has a form of its own.
  // `is_last_of_position` is false if another one tells of the same event right after it.
  virtual void notify(std::string_view method, const boost::json::object& params,
                      bool is_last_of_position);
  // There is more to come even when all requests are answered and the input has ended.
  virtual void keep_open() = 0;
  // The connection's further requests come with this access token. False where each request
  // brings its own, as over HTTP.
  virtual bool use_token(const Uuid& token_id) {
    (void)token_id;
    return false;
  }
  // What is queued and not taken by the kernel yet.
  [[nodiscard]] virtual std::size_t outgoing_bytes() const = 0;
  // Calls `action` once, when the queue has emptied next.
  virtual void on_drained(std::function<void()> action) = 0;
  // Ends the connection once the queue is empty, or after a few seconds.
  virtual void close_after_flush() = 0;
  [[nodiscard]] virtual bool closed() const = 0;
};

}  // namespace signalbox
