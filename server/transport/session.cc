#include "server/transport/session.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>

#include "domain/error.h"
#include "server/limits.h"
#include "server/rpc/responder.h"

namespace signalbox {
namespace {

namespace asio = boost::asio;

constexpr std::size_t read_bytes_at_first = 4 * 1024;
constexpr std::size_t read_bytes_at_most = 64 * 1024;

Rejection line_too_long() {
  return {ErrorCode::LIMIT_EXCEEDED,
          "a line has at most " + std::to_string(line_bytes_max) + " bytes; this one was skipped",
          {{"line_bytes_max", static_cast<std::int64_t>(line_bytes_max)}},
          {"signalbox server limits"}};
}

}  // namespace

Session::Session(Socket socket, ConnectionOrigin origin, HandleLine handle_line,
                 OutputEnded output_ended, std::chrono::milliseconds close_grace, Ended ended)
    : socket_(std::move(socket)),
      caller_(std::move(origin.caller)),
      place_(std::move(origin.place)),
      handle_line_(std::move(handle_line)),
      output_ended_(std::move(output_ended)),
      close_grace_(close_grace),
      ended_(std::move(ended)),
      close_timer_(socket_.get_executor()),
      pause_timer_(socket_.get_executor()) {}

void Session::start() {
  boost::system::error_code error;
  socket_.non_blocking(true, error);
  place_->on_drop([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->close();
  });
  in_.resize(read_bytes_at_first);
  read();
}

bool Session::has_capacity() const {
  return !closing_ && !refused_ && unanswered_ < in_flight_max_ &&
         outgoing_bytes() < outgoing_bytes_max;
}

void Session::expect_answer(std::size_t weight) {
  unanswered_ += weight;
  place_->set_busy(true);
}

void Session::keep_open() {
  keep_open_ = true;
  place_->set_busy(true);
}

bool Session::identify(const std::string& actor) {
  if (!place_->identify(actor)) refused_ = true;
  return !refused_;
}

// The next request names the actor of the token; until then its id stands for it.
bool Session::use_token(const Uuid& token_id) {
  caller_.token_id = token_id;
  caller_.shown_job_id.reset();
  (void)place_->identify("token:" + to_string(token_id));
  return true;
}

bool Session::use_job(const std::string& job_id) {
  caller_.shown_job_id = job_id;
  caller_.token_id.reset();
  (void)place_->identify("job:" + job_id);
  return true;
}

// A peer that hasn't authenticated may send one long line, but many such peers can't keep the
// engine thread busy with it.
void Session::read() {
  const bool is_newcomer = !place_->identified() && !place_->is_owner();
  const bool is_long = skipping_ || filled_ > newcomer_burst_bytes_max;
  if (!is_newcomer || !is_long) return read_now();
  if (std::exchange(pausing_, true)) return;
  pause_timer_.expires_after(std::chrono::milliseconds(newcomer_pause_ms_min));
  pause_timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& stopped) {
    const auto self = weak.lock();
    if (!self || stopped) return;
    self->pausing_ = false;
    if (self->place_->may_read_on()) return self->read_now();
    self->read();
  });
}

void Session::read_now() {
  if (reading_ || closed_ || input_ended_ || !has_capacity()) return;
  if (in_.size() - filled_ < read_bytes_at_first) {
    in_.resize(std::max(std::min(in_.size() * 2, line_bytes_max + read_bytes_at_most),
                        filled_ + read_bytes_at_first));
    place_->set_input(in_.size());  // before the next one asks for room
  }
  reading_ = true;
  const std::size_t room = std::min(in_.size() - filled_, read_bytes_at_most);
  socket_.async_read_some(
      asio::buffer(in_.data() + filled_, room),
      [self = shared_from_this()](const boost::system::error_code& error, std::size_t bytes) {
        self->reading_ = false;
        if (self->closed_) return;
        if (self->input_ended_) return;  // finish() was called meanwhile
        if (error) {
          self->end_of_input();
        } else {
          self->on_read(bytes);
        }
      });
}

void Session::on_read(std::size_t bytes) {
  filled_ += bytes;
  process_lines();
  read();
}

// Processes whole lines from the front of the input while the bounds allow. The rest moves to the
// front: part of a line, or lines beyond the bound of commands in flight.
void Session::process_lines() {
  std::size_t taken = 0;
  while (has_capacity()) {
    const std::size_t from = std::max(taken, scanned_);
    const void* found = std::memchr(in_.data() + from, '\n', filled_ - from);
    if (found == nullptr) {
      scanned_ = filled_;
      break;
    }
    const auto end = static_cast<std::size_t>(static_cast<const char*>(found) - in_.data());
    const std::string_view line(in_.data() + taken, end - taken);
    taken = end + 1;
    scanned_ = taken;
    if (!std::exchange(skipping_, false)) process_line(line);
    if (closed_) return;
  }
  if (taken > 0) {
    std::memmove(in_.data(), in_.data() + taken, filled_ - taken);
    filled_ -= taken;
    scanned_ -= std::min(scanned_, taken);
  }
  const bool has_whole_line = scanned_ < filled_;
  if (!has_whole_line && filled_ > line_bytes_max) {
    if (!skipping_) {
      expect_answer(1);
      answer(error_line("null", line_too_long()), 1);
    }
    skipping_ = true;
  }
  if (skipping_ && !has_whole_line) filled_ = scanned_ = 0;
  if (filled_ == 0 && in_.size() > read_bytes_at_most) {
    in_.resize(read_bytes_at_first);
    in_.shrink_to_fit();
  }
  count_input(taken > 0);
}

// The server itself holds up whole lines, and a line that it doesn't read on while a bound is
// reached; the peer isn't late with those.
void Session::count_input(bool has_taken_lines) {
  const bool in_line = (filled_ > 0 && scanned_ == filled_) || skipping_;
  place_->set_line(in_line && has_capacity(), has_taken_lines);
  place_->set_input(in_.size() > read_bytes_at_first ? in_.size() : filled_);
}

void Session::process_line(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (line.empty()) return;
  if (line.size() > line_bytes_max) {
    expect_answer(1);
    answer(error_line("null", line_too_long()), 1);
    return;
  }
  handle_line_(line, caller_, shared_from_this());
}

// The peer has closed its sending side. A last line without a line break counts as a line, too.
void Session::end_of_input() {
  input_ended_ = true;
  if (filled_ > 0 && !skipping_) {
    process_lines();
    if (scanned_ == filled_ && filled_ > 0) {
      const std::string line(in_.data(), filled_);
      filled_ = scanned_ = 0;
      process_line(line);
    }
  }
  if (is_tcp()) give_up_places();
  close_if_done();
}

// Not at once: whoever closes a connection may be within the queue that it waits in.
void Session::give_up_places() {
  if (unanswered_ == 0) return;
  asio::post(socket_.get_executor(), [self = shared_from_this()] { self->output_ended_(*self); });
}

void Session::answer(std::string line, std::size_t weight) {
  unanswered_ -= weight;
  place_->set_busy(unanswered_ > 0 || keep_open_);
  in_flight_max_ = line.size() > small_answer_bytes_max
                       ? query_weight
                       : std::min(2 * in_flight_max_, commands_in_flight_max);
  if (!line.empty()) {
    deliver(std::move(line));
    answers_end_ = out_.size();
    return;
  }
  // A notification has no answer, but its end frees capacity for the next line.
  if (!closed_) schedule_write();
}

void Session::deliver(std::string line) {
  if (closed_) return;
  out_ += line;
  out_ += '\n';
  if (outgoing_bytes() > small_answer_bytes_max) place_->set_output(out_.size(), false);
  schedule_write();
}

// The answers of one commit arrive one by one; one deferred write sends them together.
void Session::schedule_write() {
  if (write_scheduled_ || waiting_to_write_) return;
  write_scheduled_ = true;
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    self->write_scheduled_ = false;
    self->write();
  });
}

void Session::write() {
  const std::size_t written_before = written_;
  while (!closed_ && written_ < out_.size()) {
    boost::system::error_code error;
    const std::size_t bytes = socket_.send(
        asio::buffer(out_.data() + written_, out_.size() - written_), MSG_NOSIGNAL, error);
    if (error == asio::error::would_block) {
      waiting_to_write_ = true;
      const bool has_progress = written_ > written_before;
      // A slow reader must not make the buffer keep bytes that were sent already.
      if (written_ > out_.size() / 2) {
        out_.erase(0, written_);
        answers_end_ -= std::min(answers_end_, written_);
        written_ = 0;
      }
      place_->set_output(out_.size(), has_progress);
      socket_.async_wait(Socket::wait_write,
                         [self = shared_from_this()](const boost::system::error_code& failed) {
                           self->waiting_to_write_ = false;
                           if (failed) return self->close();
                           self->write();
                         });
      return;
    }
    if (error) return close();
    written_ += bytes;
  }
  if (!closed_) after_write();
}

void Session::after_write() {
  const bool was_large = out_.capacity() > read_bytes_at_most;
  out_.clear();
  if (was_large) out_.shrink_to_fit();
  written_ = 0;
  answers_end_ = 0;
  place_->set_output(0, false);
  for (const auto& action : std::exchange(drained_, {})) action();
  if (closed_) return;
  // Lines that waited for capacity come before new input.
  if (filled_ > 0 && has_capacity()) process_lines();
  if (input_ended_ && filled_ > 0) return end_of_input();
  close_if_done();
  read();
}

void Session::close_if_done() {
  const bool all_sent = outgoing_bytes() == 0;
  if (closing_ && all_sent) return close();
  if (refused_ && unanswered_ == 0 && all_sent) return close();
  if (!input_ended_ || filled_ > 0) return;
  if (!keep_open_ && unanswered_ == 0 && all_sent) return close();
  watch_for_hang_up();
}

// After a half-close the peer still reads, but a peer that is gone must get no claim and no event.
void Session::watch_for_hang_up() {
  if (watching_for_hang_up_) return;
  if (has_hung_up(socket_.native_handle())) return close();
  watching_for_hang_up_ = true;
  socket_.async_wait(Socket::wait_error,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       self->watching_for_hang_up_ = false;
                       if (!self->closed_ && !error) self->watch_for_hang_up();
                     });
}

void Session::finish() {
  input_ended_ = true;
  filled_ = scanned_ = 0;
  keep_open_ = false;
  close_if_done();
}

void Session::close_after_flush() {
  if (closing_ || closed_) return;
  closing_ = true;
  close_timer_.expires_after(close_grace_);
  close_timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error) self->close();
  });
  schedule_write();
}

void Session::close() {
  if (closed_) return;
  closed_ = true;
  give_up_places();
  boost::system::error_code ignored;
  close_timer_.cancel();
  pause_timer_.cancel();
  socket_.shutdown(Socket::shutdown_both, ignored);
  socket_.close(ignored);
  drained_.clear();
  place_->leave();
  ended_(shared_from_this());
}

}  // namespace signalbox
