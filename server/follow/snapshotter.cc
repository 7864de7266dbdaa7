#include "server/follow/snapshotter.h"

#include <sys/resource.h>
#include <unistd.h>

#include <utility>

#include "domain/evolve.h"
#include "projections/world_digest.h"
#include "projections/world_snapshot.h"

namespace signalbox {
namespace {

constexpr int lowest_priority = 19;

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
  changed_.notify_one();
  thread_.join();
}

void Snapshotter::offer(const MerkleFrontier& frontier) {
  if (frontier.leaves < newest_ + every_events_) return;
  {
    const std::lock_guard lock(mutex_);
    if (busy_ || wanted_) return;
    wanted_ = frontier;
  }
  newest_ = frontier.leaves;
  changed_.notify_one();
}

void Snapshotter::run() {
  // On Linux a thread has a priority of its own: commands go first on a busy machine.
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), lowest_priority);
  for (;;) {
    MerkleFrontier frontier;
    {
      std::unique_lock lock(mutex_);
      busy_ = false;
      changed_.wait(lock, [this] { return stopping_ || wanted_.has_value(); });
      if (stopping_) return;
      frontier = std::move(*std::exchange(wanted_, std::nullopt));
      busy_ = true;
    }
    make(frontier);
  }
}

void Snapshotter::make(const MerkleFrontier& frontier) {
  LoadedSnapshot loaded = load_newest_snapshot(directory_, frontier.leaves);
  for (const std::string& problem : loaded.problems) note_(false, problem);
  World world;
  if (loaded.snapshot) world = std::move(loaded.snapshot->world);
  bool stopped = false;
  const auto folded = log_.scan(world.position + 1, frontier.leaves, [&](Record&& record) {
    evolve(world, record);
    if (record.position % 1024 == 0) {
      const std::lock_guard lock(mutex_);
      stopped = stopping_;
    }
    return !stopped;
  });
  if (stopped) return;
  if (!folded) return note_(false, "no snapshot: " + folded.error().message);
  const Position position = world.position;
  if (auto ok = write_snapshot(directory_, world, frontier, world_digest(world)); !ok) {
    return note_(false, "no snapshot: " + ok.error().message);
  }
  note_(true, "snapshot at " + std::to_string(position));
}

}  // namespace signalbox
