#include "server/followers/snapshotter.h"

#include <chrono>
#include <utility>

#include "domain/evolve.h"
#include "projections/world_digest.h"
#include "projections/world_snapshot.h"
#include "server/engine/recovery.h"
#include "server/platform/thread_priority.h"
#include "store/durable_file.h"

namespace signalbox {
namespace {

constexpr std::chrono::seconds try_again_pause{5};

}  // namespace

Snapshotter::Snapshotter(const EventLog& log, std::filesystem::path directory,
                         std::uint64_t every_events, Position newest,
                         std::function<void(bool ok, const std::string& text)> note)
    : log_(log),
      directory_(std::move(directory)),
      every_events_(every_events),
      newest_(newest),
      note_(std::move(note)),
      thread_([this] { run(); }) {}

Snapshotter::~Snapshotter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Snapshotter::offer(const MerkleFrontier& frontier) {
  if (frontier.leaves < newest_ + every_events_) return;
  {
    const std::lock_guard lock(mutex_);
    if (busy_ || wanted_ || suspended_) return;
    wanted_ = frontier;
  }
  newest_ = frontier.leaves;
  changed_.notify_all();
}

Stored<void> Snapshotter::suspend() {
  {
    std::unique_lock lock(mutex_);
    suspended_ = true;
    wanted_.reset();
    changed_.wait(lock, [this] { return !busy_ || stopping_; });
    if (busy_) return store_failure(StoreError::Kind::io, "the service stops");
  }
  std::error_code failed;
  if (!std::filesystem::exists(directory_, failed)) return {};
  std::filesystem::remove_all(directory_, failed);
  if (!failed) return sync_directory(directory_.parent_path());
  return store_failure(StoreError::Kind::io,
                       "can't remove " + directory_.string() + ": " + failed.message(),
                       directory_.string());
}

void Snapshotter::resume() {
  newest_ = 0;  // there is none
  {
    const std::lock_guard lock(mutex_);
    suspended_ = false;
  }
  changed_.notify_all();
}

std::optional<std::string> Snapshotter::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Snapshotter::run() {
  set_thread_niceness(lowest_niceness);
  MerkleFrontier frontier;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      busy_ = false;
      changed_.notify_all();  // suspend() may wait for it
      const auto something = [this] { return stopping_ || wanted_.has_value(); };
      if (failure_ && !suspended_) {
        changed_.wait_for(lock, try_again_pause, something);
      } else {
        changed_.wait(lock, something);
      }
      if (stopping_) return;
      if (suspended_) continue;
      if (wanted_) frontier = std::move(*std::exchange(wanted_, std::nullopt));
      busy_ = true;
    }
    auto failure = make(frontier);
    bool is_new = false;
    {
      const std::lock_guard lock(mutex_);
      is_new = failure && !failure_;
      failure_ = std::move(failure);
    }
    if (is_new) note_(false, *failure_ + "; it is tried again");
  }
}

std::optional<std::string> Snapshotter::make(const MerkleFrontier& frontier) {
  LoadedSnapshot loaded = load_newest_snapshot(directory_, frontier.leaves);
  for (const std::string& problem : loaded.problems) note_(false, problem);
  auto begun = begin_fold(log_, std::move(loaded.snapshot));
  if (!begun) return "no snapshot: " + begun.error().message;
  World world = std::move(*begun);
  if (world.position > frontier.leaves) return std::nullopt;  // dropped since; the next one does
  bool stopped = false;
  const auto folded = log_.scan(world.position + 1, frontier.leaves, [&](Record&& record) {
    evolve(world, record);
    if (record.position % 1024 == 0) {
      const std::lock_guard lock(mutex_);
      stopped = stopping_ || suspended_;
    }
    return !stopped;
  });
  if (stopped) return std::nullopt;
  if (!folded) return "no snapshot: " + folded.error().message;
  const Position position = world.position;
  if (auto ok = write_snapshot(directory_, world, frontier, world_digest(world)); !ok) {
    return "no snapshot: " + ok.error().message;
  }
  note_(true, "snapshot at " + std::to_string(position));
  return std::nullopt;
}

}  // namespace signalbox
