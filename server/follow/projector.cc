#include "server/follow/projector.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace signalbox {
namespace {

constexpr std::size_t apply_events_at_once = 32 * 1024;
constexpr Position apply_events_before_pause_ends = 256 * 1024;
constexpr std::chrono::milliseconds apply_pause{1000};

}  // namespace

Projector::Projector(const EventLog& log, RunIndex& index,
                     std::function<void(const StoreError&)> failed)
    : log_(log), index_(index), failed_(std::move(failed)), applied_(index.applied()) {}

Projector::~Projector() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Stored<void> Projector::catch_up() {
  if (auto ok = apply_up_to(log_.tail()); !ok) return ok;
  answer_queries();
  return {};
}

void Projector::start() {
  thread_ = std::thread([this] { run(); });
}

// Called after each batch: the thread wakes by itself once a second and looks at the tail, so only
// a queue that grows fast or somebody who waits is worth a signal.
void Projector::notify() {
  if (log_.tail() - applied_.load() > apply_events_before_pause_ends) changed_.notify_one();
  const std::lock_guard lock(mutex_);
  if (wanted_ > applied_.load()) changed_.notify_one();
}

void Projector::query(Position position, Query query) {
  {
    const std::lock_guard lock(mutex_);
    queries_.push_back({position, std::move(query)});
    wanted_ = std::max(wanted_, position);
  }
  changed_.notify_one();
}

void Projector::roll_back(Position tail) {
  {
    const std::lock_guard lock(mutex_);
    for (Waiting& waiting : queries_) waiting.position = std::min(waiting.position, tail);
    wanted_ = std::min(wanted_, tail);
  }
  changed_.notify_one();
}

bool Projector::wait_for(Position position) {
  if (!thread_.joinable()) return applied_.load() >= position || catch_up().has_value();
  std::unique_lock lock(mutex_);
  wanted_ = std::max(wanted_, position);
  changed_.notify_one();
  applied_changed_.wait(lock, [&] { return applied_.load() >= position || broken_; });
  return !broken_;
}

Stored<void> Projector::apply_up_to(Position tail) {
  while (applied_.load() < tail) {
    auto records = log_.read(applied_.load() + 1, apply_events_at_once);
    if (!records) return tl::unexpected(records.error());
    if (auto ok = index_.apply(*records); !ok) return ok;
    const std::lock_guard lock(mutex_);
    applied_.store(records->back().position);
    applied_changed_.notify_all();
  }
  return {};
}

void Projector::answer_queries() {
  for (;;) {
    Waiting ready;
    {
      const std::lock_guard lock(mutex_);
      if (queries_.empty() || queries_.front().position > applied_.load()) return;
      ready = std::move(queries_.front());
      queries_.pop_front();
    }
    ready.query(index_);
  }
}

void Projector::run() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, apply_pause, [this] {
        const Position tail = log_.tail();
        if (stopping_) return true;
        if (tail - applied_.load() > apply_events_before_pause_ends) return true;
        if (!queries_.empty() && queries_.front().position <= tail) return true;
        return wanted_ > applied_.load() && wanted_ <= tail;
      });
      if (stopping_) return;
    }
    if (auto ok = apply_up_to(log_.tail()); !ok) {
      {
        const std::lock_guard lock(mutex_);
        broken_ = true;
      }
      applied_changed_.notify_all();
      failed_(ok.error());
      return;
    }
    answer_queries();
  }
}

}  // namespace signalbox
