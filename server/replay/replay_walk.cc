#include "server/replay/replay_walk.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "domain/check.h"
#include "domain/evolve.h"
#include "domain/try.h"
#include "projections/history_base.h"
#include "projections/world_codec.h"
#include "projections/world_snapshot.h"
#include "server/engine/dropped_history.h"

namespace signalbox {
namespace {

constexpr Position keep_interval_events = 20'000;
constexpr std::size_t kept_max = 64;
constexpr std::size_t kept_bytes_max = 256 * 1024 * 1024;

}  // namespace

ReplayWalk::ReplayWalk(const EventLog& log, std::filesystem::path data)
    : log_(log), snapshots_(std::move(data) / "projections" / "snapshots") {}

std::optional<Rejection> ReplayWalk::why_dropped(Position position) const {
  if (position == 0 || position > log_.horizon().position) return std::nullopt;
  return history_dropped(log_, position);
}

Stored<std::optional<WalkStep>> ReplayWalk::go(Position position) {
  SIGNALBOX_CHECK(position <= tail());
  const Horizon horizon = log_.horizon();
  if (position != 0 && position <= horizon.position) {
    return tl::unexpected(dropped_record(position, horizon));
  }
  if (world_.position < horizon.position || position == 0) {
    auto first = TRY(initial_world(log_));
    world_ = std::move(first);
    if (position == 0) return std::optional<WalkStep>();
  }
  // The event's changes are relative to the state before it.
  if (position <= world_.position || position - world_.position > keep_interval_events) {
    TRY(restore(position - 1));
  }
  TRY(fold_to(position - 1));
  auto records = TRY(log_.read(position, 1));
  WalkStep step{std::move(records.front()), {}};
  const auto before = noun_state(world_, step.record.stream);
  evolve(world_, step.record);
  const auto after = noun_state(world_, step.record.stream);
  step.changes = ends_run(step.record.event) && is_ended_run(step.record.stream, after)
                     ? differences_at_end(before, *after, &step.record.event)
                     : differences(before, after);
  return step;
}

Stored<std::optional<WalkStep>> ReplayWalk::find(const std::function<bool(const Record&)>& wanted) {
  Position found = 0;
  const Position after = std::max(position(), log_.horizon().position);
  TRY(log_.scan(after + 1, tail(), [&](Record&& record) {
    if (wanted(record)) found = record.position;
    return found == 0;
  }));
  if (found == 0) return std::optional<WalkStep>();
  return go(found);
}

Stored<std::vector<ReplayWalk::Touched>> ReplayWalk::streams_between(Position from,
                                                                     Position to) const {
  std::vector<Touched> streams;
  std::map<std::string, std::size_t> known;
  TRY(log_.scan(from + 1, to, [&](Record&& record) {
    const auto [place, is_new] = known.emplace(to_string(record.stream), streams.size());
    if (is_new) streams.push_back({std::move(record.stream), {}});
    Touched& touched = streams[place->second];
    touched.last_event = tag_of(record.event).name;
    if (ends_run(record.event)) touched.end = std::move(record.event);
    return true;
  }));
  return streams;
}

// Sets world_ to the latest available state at or before `position_max`: a kept one, a snapshot, or
// the current one.
Stored<void> ReplayWalk::restore(Position position_max) {
  const Position least = log_.horizon().position;
  Position best = world_.position <= position_max ? world_.position : least;
  if (auto kept = kept_.upper_bound(position_max); kept != kept_.begin()) {
    kept = std::prev(kept);
    if (kept->first > best) {
      auto world = TRY(decode_world(kept->second));
      world_ = std::move(world);
      return {};
    }
  }
  // Reading a snapshot is only worth its cost if it saves many events.
  if (position_max - best > keep_interval_events) {
    auto loaded = load_newest_snapshot(snapshots_, position_max);
    if (loaded.snapshot && loaded.snapshot->world.position > best) {
      world_ = std::move(loaded.snapshot->world);
      return {};
    }
  }
  if (world_.position > position_max) {
    auto first = TRY(initial_world(log_));
    world_ = std::move(first);
  }
  return {};
}

Stored<void> ReplayWalk::fold_to(Position position) {
  if (position <= world_.position) return {};
  TRY(log_.scan(world_.position + 1, position, [this](Record&& record) {
    evolve(world_, record);
    if (world_.position % keep_interval_events == 0) keep();
    return true;
  }));
  return {};
}

void ReplayWalk::keep() {
  const auto [place, is_new] = kept_.try_emplace(world_.position);
  if (!is_new) return;
  place->second = encode_world(world_);
  kept_bytes_ += place->second.size();
  // Kept states get sparser with the distance from here: drop the one whose removal leaves the
  // smallest gap relative to its distance.
  while (kept_.size() > 1 && (kept_.size() > kept_max || kept_bytes_ > kept_bytes_max)) {
    auto least = std::next(kept_.begin());
    double least_loss = 0;
    for (auto each = kept_.begin(); std::next(each) != kept_.end(); ++each) {
      const Position before = each == kept_.begin() ? 0 : std::prev(each)->first;
      const auto gap = static_cast<double>(std::next(each)->first - before);
      const double loss = gap / static_cast<double>(world_.position - each->first);
      if (each == kept_.begin() || loss < least_loss) {
        least = each;
        least_loss = loss;
      }
    }
    kept_bytes_ -= least->second.size();
    kept_.erase(least);
  }
}

}  // namespace signalbox
