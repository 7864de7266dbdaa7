// How the projector notices damaged read models and computes them from the log again.
#include <utility>

#include "server/followers/projector.h"
#include "server/limits.h"

namespace signalbox {
namespace {

constexpr std::size_t fill_events_at_once = 32 * 1024;
constexpr std::chrono::milliseconds rebuild_pause{1000};

}  // namespace

// Not on the projector's thread: a large history takes a while to read.
void Projector::check_files() {
  const auto stopping = [this] {
    const std::lock_guard lock(mutex_);
    return stopping_;
  };
  for (;;) {
    index_.table().check_files([&] { return !stopping(); });
    if (index_.table().damage()) changed_.notify_all();
    std::unique_lock lock(mutex_);
    const auto interval = std::chrono::milliseconds(limits::read_models_check_interval_ms_max);
    checker_changed_.wait_for(lock, interval, [this] { return stopping_; });
    if (stopping_) return;
  }
}

void Projector::recompute_rows(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    recompute_wanted_ = why;
  }
  index_.table().note_damage(why);
  changed_.notify_all();
}

void Projector::begin_rebuild() {
  const std::string why = index_.table().damage().value_or("");
  ++rebuilds_;
  rebuild_begun_at_ = std::chrono::steady_clock::now();
  begun_ = true;  // fill() begins the new rows
  {
    const std::lock_guard lock(mutex_);
    rebuilding_ = Rebuild{why, 0, 0};
    place_held_ = StoreError{StoreError::Kind::rebuilding, why, {}, 0};
    applied_.store(0);
  }
  applied_changed_.notify_all();
  if (note_) {
    note_(false,
          "the read models are computed from the log again, while the service goes on: " + why);
  }
}

bool Projector::rebuild() {
  if (!rebuilding()) begin_rebuild();
  for (;;) {
    answer_queries();
    {
      const std::lock_guard lock(mutex_);
      recompute_wanted_.reset();
    }
    Filled filled = Filled::try_again;
    if (auto fresh = index_.table().begin_rebuild()) {
      filled = fill(**fresh);
      if (filled == Filled::complete) index_.table().finish_rebuild(std::move(*fresh));
    }
    if (filled == Filled::complete) break;
    if (filled != Filled::try_again || !pause_rebuild()) return false;
  }
  const auto took = std::chrono::steady_clock::now() - rebuild_begun_at_;
  Rebuild done;
  {
    const std::lock_guard lock(mutex_);
    done = std::move(*rebuilding_);
    rebuilding_.reset();
    place_held_.reset();
    applied_.store(index_.applied());
    // What it was asked for meanwhile may concern rows that were filled before.
    if (recompute_wanted_) index_.table().note_damage(*recompute_wanted_);
  }
  applied_changed_.notify_all();
  done.through = index_.applied();
  done.took_ms = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
  if (rebuilt_) rebuilt_(done);
  answer_queries();
  return true;
}

Projector::Filled Projector::fill(Table& table) {
  using Kind = StoreError::Kind;
  RunIndex filling(table);
  // The table is new, so only its disk or the log can be at fault.
  if (auto begun = filling.begin(log_); !begun) {
    if (begun.error().kind == Kind::full || begun.error().kind == Kind::io || table.damage()) {
      return Filled::try_again;
    }
    fail(begun.error());
    return Filled::log_failed;
  }
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return Filled::stopped;
      rebuilding_->through = filling.applied();
    }
    answer_queries();
    if (filling.applied() >= log_.tail()) return Filled::complete;
    const auto records = log_.read(filling.applied() + 1, fill_events_at_once);
    // Records were dropped meanwhile, so the rows begin with the new base.
    if (!records && records.error().kind == StoreError::Kind::dropped) return Filled::try_again;
    if (!records) {
      fail(records.error());
      return Filled::log_failed;
    }
    if (const auto applied = filling.apply(*records); !applied) {
      if (applied.error().kind != Kind::full && applied.error().kind != Kind::io) {
        return Filled::try_again;
      }
      if (!pause_rebuild()) return Filled::stopped;
      static_cast<void>(table.reopen());  // a failure shows at the next attempt to write
    }
  }
}

bool Projector::pause_rebuild() {
  answer_queries();
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, rebuild_pause, [this] { return stopping_; });
  return !stopping_;
}

}  // namespace signalbox
