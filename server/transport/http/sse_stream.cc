#include "server/transport/http/sse_stream.h"

#include <chrono>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "domain/try.h"
#include "server/limits.h"
#include "server/rpc/shown_record.h"
#include "server/text/separated_text.h"
#include "server/transport/http/call_line.h"
#include "server/transport/http/http_exchange.h"
#include "server/transport/http/http_header.h"

namespace signalbox {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

// How long a client waits at most until it hears of events that were skipped.
constexpr std::chrono::milliseconds skipped_told_after{250};
// What a stream keeps of its queue's memory while events come: with none it would grow anew, and be
// copied as often, for each write.
constexpr std::size_t kept_queue_bytes_max = 16 * 1024;
constexpr std::string_view heartbeat = ": heartbeat\n\n";

// Sets `flag` if the param has the value `yes`; its other value is the default.
Decided<void> read_flag(const Target& target, std::string_view name, std::string_view no,
                        std::string_view yes, bool& flag) {
  bool is_given = false;
  for (const auto& [key, value] : target.query) {
    if (key != name) continue;
    if (is_given || (value != no && value != yes)) {
      const std::string field(name);
      return reject(ErrorCode::INVALID_PARAMS,
                    field + " is " + std::string(no) + " or " + std::string(yes) + ", once",
                    {{"field", field}});
    }
    is_given = true;
    flag = value == yes;
  }
  return {};
}

Decided<void> read_per_second_max(const Target& target, std::uint32_t& number) {
  bool is_of_a_part = false;
  for (const auto& [name, value] : target.query) {
    is_of_a_part = is_of_a_part || name == "types" || name == "run_id" || name == "span_id";
    if (name != "per_second_max") continue;
    const bool is_repeated = number != 0;
    number = whole_number<std::uint32_t>(value).value_or(0);
    if (is_repeated || number < sse_events_per_second_min || number > sse_events_per_second_max) {
      return reject(ErrorCode::INVALID_PARAMS,
                    "per_second_max is a number from " + std::to_string(sse_events_per_second_min) +
                        " to " + std::to_string(sse_events_per_second_max) + ", once",
                    {{"field", std::string("per_second_max")}});
    }
  }
  if (number != 0 && is_of_a_part) {
    return reject(ErrorCode::INVALID_PARAMS,
                  "per_second_max is for all events: leave types, run_id and span_id out",
                  {{"field", std::string("per_second_max")}});
  }
  return {};
}

// Returns what a stream begins with. An EventSource reconnects after 1 s, and then sends the last
// id that it received: it has one from the beginning, so that nothing is lost if it has had no
// event.
std::string beginning(std::string_view result) {
  const auto from = json::parse(result).at("from").to_number<Position>();
  return "retry: 1000\nid: " + std::to_string(from - 1) + "\n\n";
}

}  // namespace

bool is_of_sse_form(std::string_view name) {
  return name == "framing" || name == "fields" || name == "per_second_max";
}

Decided<SseForm> read_sse_form(const Target& target) {
  SseForm form;
  TRY(read_flag(target, "framing", "event", "message", form.is_message));
  TRY(read_flag(target, "fields", "all", "summary", form.is_summary));
  TRY(read_per_second_max(target, form.per_second_max));
  return form;
}

HttpAnswer event_stream_response() {
  HttpAnswer answer;
  answer.media_type = "text/event-stream";
  answer.endless = true;
  answer.close = true;
  answer.headers.emplace_back("X-Accel-Buffering", "no");
  return answer;
}

std::string sse_record(const RecordNotice& notice, SseForm form) {
  std::string text;
  if (notice.is_last_of_position) {
    text.append("id: ").append(std::to_string(notice.record.record().position)).append("\n");
  }
  if (!form.is_message) text.append("event: ").append(notice.record.type()).append("\n");
  text += "data: ";
  notice.record.append_params(text,
                              {.has_name_first = form.is_message,
                               .is_summary = form.is_summary,
                               .hides_tokens = notice.hides_tokens},
                              notice.subscription);
  text += "\n\n";
  return text;
}

// Serialized JSON has no line breaks, so `data` is one line. Only the last event of a position has
// an id, so that a client that resumes after an id has all events of that position.
std::string sse_event(std::string_view method, const json::object& params, bool is_last_of_position,
                      SseForm form) {
  std::string text;
  const json::value* position = params.if_contains("position");
  if (position != nullptr && is_last_of_position) {
    text += "id: ";
    text +=
        position->is_string() ? std::string(position->get_string()) : json::serialize(*position);
    text += '\n';
  }
  if (!form.is_message) text.append("event: ").append(method).append("\n");
  text += "data: ";
  if (form.is_message) {
    json::object named{{"event", json::string_view(method)}};
    for (const auto& [key, value] : params) named.emplace(key, value);
    text += json::serialize(named);
  } else {
    text += json::serialize(params);
  }
  text += "\n\n";
  return text;
}

SseStream::SseStream(std::shared_ptr<HttpSession> session, SseForm form)
    : session_(std::move(session)),
      form_(form),
      timer_(session_->socket().get_executor()),
      rate_(form.per_second_max),
      write_timer_(session_->socket().get_executor()),
      skipped_timer_(session_->socket().get_executor()) {}

void SseStream::answer(std::string line, std::size_t) {
  if (closed() || streaming_) return;
  const auto result = result_text(line);
  if (!result) return session_->respond(problem_of_line(line));
  streaming_ = true;
  queue(header_text(event_stream_response(), std::nullopt, false));
  queue(beginning(*result));
  schedule_heartbeat();
}

void SseStream::notify(std::string_view method, const json::object& params,
                       bool is_last_of_position) {
  if (streaming_ && !closed()) {
    queue(sse_event(method, params, is_last_of_position, form_));
  }
}

void SseStream::notify_record(const RecordNotice& notice) {
  if (!streaming_ || closed()) return;
  tell_skipped();  // the order is that of the log
  queue(sse_record(notice, form_));
}

bool SseStream::takes_records(std::size_t count, Position first, Position last) {
  if (form_.per_second_max == 0) return true;
  const bool is_taken = rate_.takes(count, std::chrono::steady_clock::now());
  // Once some are skipped, all are until the client is told.
  if (is_taken && skipped_from_ == 0) return true;
  skipped_to_ = last;
  if (skipped_from_ != 0) return false;
  skipped_from_ = first;
  skipped_timer_.expires_after(skipped_told_after);
  skipped_timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& stopped) {
    const auto self = weak.lock();
    if (self && !stopped) self->tell_skipped();
  });
  return false;
}

// What is skipped until then is told as one.
void SseStream::tell_skipped() {
  if (skipped_from_ == 0) return;
  skipped_timer_.cancel();
  notify(
      "skipped",
      {{"position", skipped_to_}, {"from", std::exchange(skipped_from_, 0)}, {"to", skipped_to_}},
      true);
}

void SseStream::queue(std::string_view text) {
  out_ += text;
  if (outgoing_bytes() > small_answer_bytes_max) session_->place().set_output(out_.size(), false);
  if (!write_scheduled_ && !writing_) schedule_write();
}

// The events of one commit arrive one by one; one deferred write sends them together, and to a
// screen those of several commits.
void SseStream::schedule_write() {
  write_scheduled_ = true;
  const auto due =
      written_at_ + std::chrono::milliseconds(session_->service().screen_write_interval_ms);
  if (form_.per_second_max == 0 || due <= std::chrono::steady_clock::now()) {
    return asio::post(session_->socket().get_executor(), [self = shared_from_this()] {
      self->write_scheduled_ = false;
      self->write();
    });
  }
  write_timer_.expires_at(due);
  write_timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& stopped) {
    const auto self = weak.lock();
    if (!self || stopped) return;
    self->write_scheduled_ = false;
    self->write();
  });
}

void SseStream::write() {
  if (closed() || writing_) return;
  if (outgoing_bytes() == 0) {
    if (closing_) session_->close();
    return;
  }
  written_at_ = std::chrono::steady_clock::now();
  boost::system::error_code error;
  const std::size_t bytes = session_->socket().send(
      asio::buffer(out_.data() + written_, outgoing_bytes()), MSG_NOSIGNAL, error);
  if (error && error != asio::error::would_block) return session_->close();
  const bool has_progress = !error && bytes > 0;
  if (!error) written_ += bytes;
  if (outgoing_bytes() == 0) return on_drained_now();
  // A slow reader must not make the buffer keep bytes that were sent already.
  if (written_ > out_.size() / 2) {
    out_.erase(0, written_);
    written_ = 0;
  }
  session_->place().set_output(out_.size(), has_progress);
  writing_ = true;
  session_->socket().async_wait(HttpSession::Socket::wait_write,
                                [self = shared_from_this()](const boost::system::error_code& bad) {
                                  self->writing_ = false;
                                  if (self->closed()) return;
                                  if (bad) return self->session_->close();
                                  self->write();
                                });
}

void SseStream::on_drained_now() {
  out_.clear();
  if (out_.capacity() > kept_queue_bytes_max) out_.shrink_to_fit();
  written_ = 0;
  session_->place().set_output(0, false);
  for (const auto& action : std::exchange(drained_, {})) action();
  if (closing_ && !closed() && outgoing_bytes() == 0) session_->close();
}

void SseStream::schedule_heartbeat() {
  timer_.expires_after(std::chrono::milliseconds(session_->service().event_stream_heartbeat_ms));
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& stopped) {
    const auto self = weak.lock();
    if (!self || stopped || self->closed() || self->closing_) return;
    if (self->outgoing_bytes() == 0) {
      self->out_.shrink_to_fit();
      self->queue(heartbeat);
    }
    self->schedule_heartbeat();
  });
}

void SseStream::close_after_flush() {
  if (closing_ || closed()) return;
  closing_ = true;
  timer_.expires_after(std::chrono::milliseconds(session_->service().close_grace_ms));
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& stopped) {
    if (!stopped) self->session_->close();
  });
  queue({});
}

void SseStream::on_end() {
  if (!closed()) {
    if (streaming_) close_after_flush();
    return;
  }
  timer_.cancel();
  skipped_timer_.cancel();
  write_timer_.cancel();
  out_.clear();
  written_ = 0;
  drained_.clear();
}

}  // namespace signalbox
