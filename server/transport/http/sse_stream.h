// A response that streams events as server-sent events (WHATWG HTML, section 9.2). `id:` is the
// position, `event:` the type's name, `data:` the object that a subscriber on the socket gets,
// unless it asks for another form.
//
// It is a peer of the event feed like any other, so a slow reader is disconnected like any other.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "domain/error.h"
#include "server/transport/http/http_session.h"
#include "server/transport/http/record_rate.h"
#include "server/transport/http/target.h"

namespace signalbox {

// How events are written.
struct SseForm {
  // The events have no names, so that an EventSource passes all of them to one listener. The name
  // is `event` in their data.
  bool is_message = false;
  bool is_summary = false;  // events of the log have no `data` in theirs
  // For a screen, on which nobody reads more: while more events than so many come in a second, the
  // client is only told where it is in the log. 0: everything is sent.
  std::uint32_t per_second_max = 0;
};

inline constexpr std::uint32_t sse_events_per_second_min = 100;
inline constexpr std::uint32_t sse_events_per_second_max = 100'000;

// Returns whether a param of a request says how events are written.
bool is_of_sse_form(std::string_view name);
// Returns the form that a request asks for by `framing`, `fields` and `per_second_max`.
// INVALID_PARAMS for other values, or several, and for per_second_max of a part of the events.
Decided<SseForm> read_sse_form(const Target& target);

class SseStream final : public Peer,
                        public HttpSession::StreamingResponse,
                        public std::enable_shared_from_this<SseStream> {
 public:
  SseStream(std::shared_ptr<HttpSession> session, SseForm form);

  void expect_answer(std::size_t) override {}
  // Takes the answer to events.subscribe: a refusal becomes the response, a result begins the
  // stream.
  void answer(std::string line, std::size_t weight) override;
  void deliver(std::string) override {}  // all events come through notify()
  void notify(std::string_view method, const boost::json::object& params,
              bool is_last_of_position) override;
  void notify_record(const RecordNotice& notice) override;
  bool takes_records(std::size_t count, Position first, Position last) override;
  [[nodiscard]] std::size_t records_per_second_max() const override {
    return form_.per_second_max == 0 ? every_record : form_.per_second_max;
  }
  void keep_open() override {}
  bool identify(const std::string& actor) override { return session_->identify(actor); }
  bool take_subscription() override { return session_->place().take_subscription(); }
  void count_refused_subscription() override { session_->place().count_refused_subscription(); }
  [[nodiscard]] bool is_caller_full() const override { return session_->place().is_caller_full(); }
  [[nodiscard]] std::string_view counted_caller() const override {
    return session_->place().caller();
  }
  [[nodiscard]] std::size_t outgoing_bytes() const override { return out_.size() - written_; }
  void on_drained(std::function<void()> action) override { drained_.push_back(std::move(action)); }
  void close_after_flush() override;
  void close_now() override { session_->close(); }
  [[nodiscard]] bool has_gone(bool counts_end_of_output) override {
    return session_->has_gone(counts_end_of_output);
  }
  [[nodiscard]] bool closed() const override { return session_->closed(); }
  void on_end() override;

 private:
  void queue(std::string_view text);
  void schedule_write();
  void write();
  void on_drained_now();
  void schedule_heartbeat();
  void tell_skipped();

  std::shared_ptr<HttpSession> session_;
  const SseForm form_;
  boost::asio::steady_timer timer_;  // for the heartbeat; while closing, for the grace period
  std::string out_;
  std::size_t written_ = 0;  // leading bytes of out_ that are sent
  std::vector<std::function<void()>> drained_;
  bool write_scheduled_ = false;
  bool writing_ = false;
  bool streaming_ = false;
  bool closing_ = false;

  // Of a form with per_second_max:
  RecordRate rate_;
  std::chrono::steady_clock::time_point written_at_ = std::chrono::steady_clock::time_point::min();
  boost::asio::steady_timer write_timer_;
  Position skipped_from_ = 0;  // 0: nothing that the client doesn't know of
  Position skipped_to_ = 0;
  boost::asio::steady_timer skipped_timer_;  // until the client is told
};

// Returns the response header of a stream.
HttpAnswer event_stream_response();

// Returns a record as text.
std::string sse_record(const RecordNotice& notice, SseForm form = {});
// Returns any other notification as text. `is_last_of_position`: no further event has the same
// position.
std::string sse_event(std::string_view method, const boost::json::object& params,
                      bool is_last_of_position, SseForm form = {});

}  // namespace signalbox
