// One connection of JSON-RPC lines: reads lines, passes them to the dispatcher and writes answers,
// within the bounds of limits.h.
//
// It uses callbacks instead of coroutines, because it has few states, each of which may end at any
// time, and is the hot path of the whole service. All calls come from the engine thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "server/access/caller.h"
#include "server/limits.h"
#include "server/rpc/peer.h"
#include "server/transport/http/open_connection.h"

namespace signalbox {

class Session final : public Peer,
                      public OpenConnection,
                      public std::enable_shared_from_this<Session> {
 public:
  using HandleLine = std::function<void(std::string_view line, const Caller& caller,
                                        const std::shared_ptr<Peer>& peer)>;

  using OutputEnded = std::function<void(const Peer& peer)>;

  // `close_grace` is the time for what is left to be read when the connection is being closed.
  Session(Socket socket, ConnectionOrigin origin, HandleLine handle_line, OutputEnded output_ended,
          std::chrono::milliseconds close_grace, Ended ended);

  void start();
  void finish() override;
  // What is sent to a subscriber isn't an answer.
  [[nodiscard]] bool is_answering() const override {
    return !closed_ && (unanswered_ > 0 || written_ < answers_end_);
  }
  void close() override;

  void expect_answer(std::size_t weight) override;
  void answer(std::string line, std::size_t weight) override;
  void deliver(std::string line) override;
  void keep_open() override;
  bool identify(const std::string& actor) override;
  bool take_subscription() override { return place_->take_subscription(); }
  void count_refused_subscription() override { place_->count_refused_subscription(); }
  [[nodiscard]] bool is_caller_full() const override { return place_->is_caller_full(); }
  [[nodiscard]] std::string_view counted_caller() const override { return place_->caller(); }
  bool use_token(const Uuid& token_id) override;
  bool use_job(const std::string& job_id) override;
  [[nodiscard]] std::size_t outgoing_bytes() const override { return out_.size() - written_; }
  void on_drained(std::function<void()> action) override { drained_.push_back(std::move(action)); }
  void close_after_flush() override;
  void close_now() override { close(); }
  [[nodiscard]] bool closed() const override { return closed_; }
  [[nodiscard]] bool has_gone(bool counts_end_of_output) override {
    return closed_ || has_hung_up(socket_.native_handle(), is_tcp() && counts_end_of_output);
  }

 private:
  // Reads more, at once or after a pause, unless a bound is reached.
  void read();
  void read_now();
  void on_read(std::size_t bytes);
  void process_lines();
  void process_line(std::string_view line);
  void end_of_input();
  [[nodiscard]] bool is_tcp() const { return !caller_.uid; }
  // Has requests that wait for their turn lose it: their answers may reach nobody.
  void give_up_places();
  void schedule_write();
  void write();
  void after_write();
  void count_input(bool has_taken_lines);
  // Returns false while a bound of the connection is reached.
  [[nodiscard]] bool has_capacity() const;
  void close_if_done();
  void watch_for_hang_up();

  Socket socket_;
  Caller caller_;
  std::shared_ptr<Admission::Place> place_;
  HandleLine handle_line_;
  OutputEnded output_ended_;
  const std::chrono::milliseconds close_grace_;
  Ended ended_;

  std::string in_;  // read buffer; the first filled_ bytes are input
  std::size_t filled_ = 0;
  std::size_t scanned_ = 0;  // leading bytes of the input known to hold no line break
  bool skipping_ = false;    // the current line is too long
  bool reading_ = false;
  bool pausing_ = false;  // pause_timer_ is set
  bool input_ended_ = false;
  std::size_t unanswered_ = 0;  // sum of the weights
  // Bound of unanswered_. It grows with each small answer, up to commands_in_flight_max, and a
  // large one sets it back to a single query, so that few large answers are produced ahead.
  std::size_t in_flight_max_ = query_weight;

  std::string out_;
  std::size_t written_ = 0;      // leading bytes of out_ that are sent
  std::size_t answers_end_ = 0;  // where the last answer in out_ ends
  bool write_scheduled_ = false;
  bool waiting_to_write_ = false;
  bool watching_for_hang_up_ = false;
  std::vector<std::function<void()>> drained_;

  bool keep_open_ = false;
  bool refused_ = false;  // its caller has too many connections
  bool closing_ = false;
  bool closed_ = false;
  boost::asio::steady_timer close_timer_;
  boost::asio::steady_timer pause_timer_;
};

}  // namespace signalbox
