#include "server/followers/log_check.h"

#include <chrono>
#include <utility>

#include "server/limits.h"
#include "server/platform/thread_priority.h"

namespace signalbox {
namespace {

// After each part of a file (RocksEventLog::check_files()), so that commits have the disk: at most
// 100 MiB are read in a second.
constexpr std::chrono::milliseconds part_pause{10};

}  // namespace

LogCheck::LogCheck(const RocksEventLog& log, std::function<void(const std::string& text)> note)
    : log_(log), note_(std::move(note)) {}

LogCheck::~LogCheck() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void LogCheck::start() {
  thread_ = std::thread([this] { run(); });
}

std::optional<std::string> LogCheck::damage() const {
  const std::lock_guard lock(mutex_);
  return damage_;
}

bool LogCheck::pause(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, time, [this] { return stopping_; });
  return !stopping_;
}

void LogCheck::run() {
  set_thread_niceness(lowest_niceness);
  do {
    const auto checked = log_.check_files([this] { return pause(part_pause); });
    std::optional<std::string> damage;
    // What can't be read at the moment is no damage: the next check tries again.
    if (!checked && checked.error().kind == StoreError::Kind::damaged) {
      damage = checked.error().message +
               "; keep a copy of the data directory, and restore one that is whole";
    }
    bool is_new = false;
    {
      const std::lock_guard lock(mutex_);
      is_new = damage && damage != damage_;
      damage_ = damage;
    }
    if (is_new) note_(*damage);
  } while (pause(std::chrono::milliseconds(limits::log_check_interval_ms_max)));
}

}  // namespace signalbox
