#include "server/platform/reload_signal.h"

#include <csignal>
#include <utility>

#include <pthread.h>

namespace signalbox {
namespace {

sigset_t reload_signal_set() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGHUP);
  return signals;
}

}  // namespace

ReloadSignal::ReloadSignal() {
  const sigset_t signals = reload_signal_set();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  thread_ = std::thread([this] { run(); });
}

ReloadSignal::~ReloadSignal() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    action_ = nullptr;
  }
  pthread_kill(thread_.native_handle(), SIGHUP);
  thread_.join();
}

void ReloadSignal::run() {
  const sigset_t signals = reload_signal_set();
  for (int signal = 0;;) {
    if (sigwait(&signals, &signal) != 0) continue;
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    if (action_) {
      action_();
    } else {
      pending_ = true;
    }
  }
}

void ReloadSignal::on_signal(std::function<void()> action) {
  const std::lock_guard lock(mutex_);
  action_ = std::move(action);
  if (action_ && std::exchange(pending_, false)) action_();
}

void ReloadSignal::postpone() {
  const std::lock_guard lock(mutex_);
  pending_ = true;
}

}  // namespace signalbox
