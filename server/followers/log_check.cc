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
// A file that couldn't be read may be readable again soon. All others are read again with it.
constexpr std::chrono::hours again_pause{1};

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

std::optional<std::string> LogCheck::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

bool LogCheck::pause(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, time, [this] { return stopping_; });
  return !stopping_;
}

void LogCheck::run() {
  set_thread_niceness(lowest_niceness);
  std::chrono::milliseconds interval{};
  do {
    const auto checked = log_.check_files([this] { return pause(part_pause); });
    interval = std::chrono::milliseconds(limits::log_check_interval_ms_max);
    if (checked) {
      set_trouble(std::nullopt);
    } else if (checked.error().kind == StoreError::Kind::damaged) {
      set_trouble(checked.error().message +
                  "; keep a copy of the data directory, and restore one that is whole");
    } else {
      set_trouble(checked.error().message + "; it is tried again, but look at the disk");
      interval = again_pause;
    }
  } while (pause(interval));
}

void LogCheck::set_trouble(const std::optional<std::string>& trouble) {
  bool is_new = false;
  {
    const std::lock_guard lock(mutex_);
    is_new = trouble && trouble != trouble_;
    trouble_ = trouble;
  }
  if (is_new) note_(*trouble);
}

}  // namespace signalbox
