#include "store/purge_watch.h"

#include <chrono>

namespace signalbox {
namespace {

constexpr auto purge_poll_interval = std::chrono::milliseconds(20);

}  // namespace

PurgeWatch::PurgeWatch(const std::atomic<bool>* canceled, const std::atomic<bool>& wanted)
    : canceled_(canceled), wanted_(wanted), ended_(is_ended()), thread_([this] { run(); }) {}

PurgeWatch::~PurgeWatch() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void PurgeWatch::run() {
  std::unique_lock lock(mutex_);
  while (!over_) {
    if (is_ended()) ended_ = true;
    changed_.wait_for(lock, purge_poll_interval, [this] { return over_; });
  }
}

}  // namespace signalbox
