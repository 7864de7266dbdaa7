#include "server/transport/session.h"

#include <poll.h>

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
constexpr std::chrono::seconds close_grace{5};

Rejection line_too_long() {
  return {ErrorCode::LIMIT_EXCEEDED,
          "a line has at most " + std::to_string(line_bytes_max) + " bytes; this one was skipped",
          {{"line_bytes_max", static_cast<std::int64_t>(line_bytes_max)}},
          {"signalbox rpc server.limits"}};
}

}  // namespace

Session::Session(Socket socket, Caller caller, HandleLine handle_line, Ended ended)
    : socket_(std::move(socket)),
      caller_(std::move(caller)),
      handle_line_(std::move(handle_line)),
      ended_(std::move(ended)),
      close_timer_(socket_.get_executor()) {}

void Session::start() {
  boost::system::error_code error;
  socket_.non_blocking(true, error);
  in_.resize(read_bytes_at_first);
  read();
}

bool Session::has_capacity() const {
  return !closing_ && unanswered_ < commands_in_flight_max && outgoing_bytes() < outgoing_bytes_max;
}

void Session::read() {
  if (reading_ || closed_ || input_ended_ || !has_capacity()) return;
  if (in_.size() - filled_ < read_bytes_at_first) {
    in_.resize(std::max(in_.size() * 2, filled_ + read_bytes_at_first));
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
  close_if_done();
}

void Session::answer(std::string line, std::size_t weight) {
  unanswered_ -= weight;
  if (!line.empty()) return deliver(std::move(line));
  // A notification has no answer, but its end frees capacity for the next line.
  if (!closed_) schedule_write();
}

void Session::deliver(std::string line) {
  if (closed_) return;
  out_ += line;
  out_ += '\n';
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
  while (!closed_ && written_ < out_.size()) {
    boost::system::error_code error;
    const std::size_t bytes = socket_.send(
        asio::buffer(out_.data() + written_, out_.size() - written_), MSG_NOSIGNAL, error);
    if (error == asio::error::would_block) {
      waiting_to_write_ = true;
      // A slow reader must not make the buffer keep bytes that were sent already.
      if (written_ > out_.size() / 2) {
        out_.erase(0, written_);
        written_ = 0;
      }
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
  if (!input_ended_ || filled_ > 0) return;
  if (!keep_open_ && unanswered_ == 0 && all_sent) return close();
  watch_for_hang_up();
}

// After a half-close the peer still reads, but a peer that is gone must get no claim and no event.
// On a Unix socket poll() distinguishes the two.
void Session::watch_for_hang_up() {
  if (watching_for_hang_up_) return;
  pollfd state{socket_.native_handle(), 0, 0};
  if (::poll(&state, 1, 0) > 0) return close();  // POLLHUP, POLLERR: always reported
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
  close_timer_.expires_after(close_grace);
  close_timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error) self->close();
  });
  schedule_write();
}

void Session::close() {
  if (closed_) return;
  closed_ = true;
  boost::system::error_code ignored;
  close_timer_.cancel();
  socket_.shutdown(Socket::shutdown_both, ignored);
  socket_.close(ignored);
  drained_.clear();
  ended_(shared_from_this());
}

}  // namespace signalbox
