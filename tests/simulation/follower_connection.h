// Both ends of a follower's connection, with what is on its way between them.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "server/rpc/peer.h"
#include "tests/simulation/delivery_book.h"
#include "tests/simulation/environment.h"

namespace signalbox::simulation {

class FollowerConnection final : public Peer {
 public:
  struct Line {
    std::string method;  // of a notification; empty: an answer
    boost::json::object content;
  };

  // A connection to this life of the server. Each line that waits counts as so many bytes.
  FollowerConnection(Environment& environment, const EventLog& log, DeliveryBook& book, Owner life,
                     std::size_t line_bytes)
      : environment_(environment), log_(log), book_(book), life_(life), line_bytes_(line_bytes) {}

  // The server's end.
  void expect_answer(std::size_t) override {}
  void answer(std::string line, std::size_t) override;
  void deliver(std::string line) override;
  void notify(std::string_view method, const boost::json::object& params, bool) override;
  void notify_record(const RecordNotice& notice) override;
  void keep_open() override {}
  [[nodiscard]] std::size_t outgoing_bytes() const override { return lines_.size() * line_bytes_; }
  void on_drained(std::function<void()> action) override { drained_ = std::move(action); }
  void close_after_flush() override { closed_ = true; }
  [[nodiscard]] bool closed() const override { return closed_; }

  // The follower's end. Returns the next line; nullopt: none has come.
  std::optional<Line> take();
  [[nodiscard]] bool empty() const { return lines_.empty(); }
  // Closes the connection and drops all but the first lines.
  void close(std::size_t lines_kept);

 private:
  Environment& environment_;
  const EventLog& log_;
  DeliveryBook& book_;
  const Owner life_;
  const std::size_t line_bytes_;
  std::deque<Line> lines_;
  std::function<void()> drained_;  // empty: nobody waits for it
  bool closed_ = false;
};

}  // namespace signalbox::simulation
