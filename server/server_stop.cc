// How the service ends: by a signal, with a last event and all answers sent, or by a failure.
#include <algorithm>
#include <chrono>
#include <utility>

#include <boost/asio/post.hpp>

#include "server/limits.h"
#include "server/platform/call_bounds.h"
#include "server/platform/exit_code.h"
#include "server/platform/service_manager.h"
#include "server/server.h"

namespace signalbox {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::milliseconds answers_poll{10};

}  // namespace

Rejection Server::stopping_refusal() {
  return {
      ErrorCode::SHUTTING_DOWN, "the server is stopping; connect again", {}, {"signalbox status"}};
}

void Server::stop_on_signal(const std::string& name) {
  notify_stopping();
  end_ = ServerEnd::stopped;
  // One that lets go of its cell, or was deposed, ends already, but stands by no more.
  if (stopping_) logger_.info("stopping: signal {}", name);
  stop("signal " + name);
}

void Server::stop_if_told_before() {
  const std::string signal = cell_->stop_signal();
  if (!signal.empty()) asio::post(io_, [this, signal] { stop_on_signal(signal); });
}

void Server::end_serving(const Rejection& refusal) {
  answers_until_ms_ = CallBounds::now_ms() + limits::stop_answers_ms_max;
  cancel_background();
  untold_usage_.give_up();
  clock_timer_.cancel();
  listen_timer_.cancel();
  token_timer_.cancel();
  runner_timer_.cancel();
  space_watch_.cancel();
  agent_log_timer_.cancel();
  cell_timer_.cancel();
  certificate_watch_.cancel();
  settings_reload_.stop();
  dispatcher_.refuse_all(refusal);
  claims_.refuse_all(refusal);
  locks_.refuse_all(refusal);
  steps_.refuse_all(refusal);
  runner_queue_.refuse_all(refusal);
  runner_outputs_.stop();
  // Those that are being made are answered if that doesn't take long.
  report_askers_->give_up();
  lanes_.reports.fail_unwanted();
  listener_.finish();
}

// Jobs continue: their shims supervise them until the next start.
void Server::stop(const std::string& why) {
  if (std::exchange(stopping_, true)) return;
  logger_.info("stopping: {}", why);
  end_serving(stopping_refusal());
  if (member_ && !stands_by_) {
    // A stop doesn't wait for a database that is away, or goes away now.
    const auto patience = std::chrono::milliseconds(
        member_->is_current() ? 2 * limits::cell_lease_ms_max : std::int64_t{0});
    cell_timer_.expires_after(patience);
    cell_timer_.async_wait([this](const boost::system::error_code& canceled) {
      if (canceled || engine_.idle()) return;
      step_down("its log is away, and the service stops");
    });
  }
  engine_.go_on();  // nothing is due any more, and the last event is tried
  engine_.flush();
  stop_when_idle();
}

void Server::stop_when_idle() {
  if (!engine_.idle()) return engine_.flush();
  if (!stopped_ && !stands_by_ && !engine_.storage_full()) {
    stopped_ = true;
    (void)engine_.begin(by_the_service).apply(StopServer{});
    // ServerStopped is the last event: results that other threads still deliver are refused.
    engine_.close(stopping_refusal());
    return engine_.flush();
  }
  if (stands_by_) return stop_when_answered();  // it writes no run roots
  // Answers that the last commit released, or that wait for its run-root files, are still queued
  // for the sockets; they are sent first.
  run_roots_.when_written(engine_.durable_position(), [this](const std::string&) {
    asio::post(io_, [this] { asio::post(io_, [this] { stop_when_answered(); }); });
  });
}

// What other threads do for a request, such as the check of a project or the compression of an
// answer, ends soon after the last event; a peer that reads slowly, or a repository that hangs,
// doesn't.
void Server::stop_when_answered() {
  if (!listener_.is_answering() || CallBounds::now_ms() >= answers_until_ms_) return io_.stop();
  answers_timer_.expires_after(answers_poll);
  answers_timer_.async_wait([this](const boost::system::error_code& replaced) {
    if (!replaced) stop_when_answered();
  });
}

// The next start does what is left undone.
void Server::cancel_background() {
  if (std::exchange(background_canceled_, true)) return;
  run_roots_.finish_by(CallBounds::now_ms() + limits::run_root_write_ms_max);
  if (retention_) retention_->stop();
  if (followed_drops_) followed_drops_->stop();
  redactions_.stop();
  if (followed_redactions_) followed_redactions_->stop();
  if (file_retention_) file_retention_->stop();
  projector_.end_waiting();
}

void Server::fail(int exit_code, const std::string& why) {
  logger_.error("{}", why);
  if (exit_code_ == 0) exit_code_ = exit_code;
  if (failing_) failing_(exit_code_);
  cancel_background();
  asio::post(io_, [this] { asio::post(io_, [this] { io_.stop(); }); });
}

void Server::fail_from_thread(const StoreError& error) {
  asio::post(io_, [this, error] { fail(exit_code_of(error), error.message); });
}

// Stops the threads before the objects that their callbacks use. What a board's lane has not begun
// is done by the next start.
void Server::stop_threads() {
  const std::int64_t deadline_ms = CallBounds::now_ms() + limits::stop_threads_ms_max;
  lanes_.request_stop();  // git and HTTP end now, while the others are waited for
  traces_.stop();
  hanging_ = lanes_.stop(deadline_ms);
  if (hanging_.empty()) {
    jobs_.reset();
  } else {
    (void)jobs_.release();  // a thread that hangs may still use it
  }
  if (committer_) committer_->stop();  // not destroyed: a retention that hangs may still use it
  run_roots_.stop();
  const std::int64_t writes_ms = CallBounds::now_ms() + limits::stop_writes_ms_max;
  for (std::string& lane : lanes_.stop_run_root_writes(std::min(deadline_ms, writes_ms))) {
    hanging_.push_back(std::move(lane));
  }
  listener_.close();
}

}  // namespace signalbox
