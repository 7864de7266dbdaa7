#include "server/replay/past_history.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <system_error>
#include <utility>

#include "domain/evolve.h"
#include "domain/try.h"
#include "projections/history_base.h"
#include "projections/rocks_table.h"
#include "projections/run_index_keys.h"
#include "projections/world_codec.h"
#include "server/limits.h"
#include "server/platform/call_bounds.h"

namespace signalbox {
namespace {

// Beside the versions of rows, whose keys begin with 'v'.
std::string kept_world_key(Position position) { return run_index_keys::numbered("w", position); }

}  // namespace

PastHistory::PastHistory(const EventLog& log, std::filesystem::path directory, Intervals intervals)
    : log_(log),
      directory_(std::move(directory)),
      intervals_(intervals),
      worlds_interval_(intervals.worlds) {
  forget();
}

PastHistory::~PastHistory() { forget(); }

void PastHistory::forget() {
  index_.reset();
  versions_.reset();
  stored_.reset();  // closes its database
  world_ = World{};
  worlds_.clear();
  worlds_interval_ = intervals_.worlds;
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

Stored<PastHistory::Start> PastHistory::start_of(Position at) {
  if (!stored_) TRY(open());
  TRY(extend(at));
  Start start;
  const Position horizon = log_.horizon().position;
  const Position version = at - (at - horizon) % intervals_.rows;
  start.rows = versions_->at(std::min(version, index_->applied()));
  const auto after = std::find_if(worlds_.begin(), worlds_.end(),
                                  [at](const KeptWorld& each) { return each.position > at; });
  if (after == worlds_.begin()) {
    auto first = TRY(initial_world(log_));
    start.world = std::move(first);
    return start;
  }
  const auto bytes = TRY(stored_->get(kept_world_key(std::prev(after)->position)));
  if (!bytes) return store_failure(StoreError::Kind::damaged, "a kept world is missing");
  auto world = TRY(decode_world(*bytes));
  start.world = std::move(world);
  return start;
}

Stored<void> PastHistory::open() {
  auto opened = TRY(RocksTable::open_or_recreate(directory_, RunIndex::table_format));
  stored_ = std::move(opened.table);
  versions_ = std::make_unique<VersionedTable>(*stored_);
  index_ = std::make_unique<RunIndex>(*versions_);
  TRY(index_->begin(log_));
  auto first = TRY(initial_world(log_));
  world_ = std::move(first);
  return {};
}

Stored<void> PastHistory::extend(Position at) {
  while (index_->applied() + intervals_.rows <= at) {
    if (CallBounds::is_canceled()) {
      return store_failure(StoreError::Kind::io, "the service stops");
    }
    const Position applied = index_->applied();
    TRY(index_->apply(log_, applied + 1, applied + intervals_.rows,
                      [this](const Record& record) { evolve(world_, record); }));
    const Position kept = worlds_.empty() ? log_.horizon().position : worlds_.back().position;
    if (world_.position - kept >= worlds_interval_) TRY(keep_world());
  }
  return {};
}

Stored<void> PastHistory::keep_world() {
  const std::string bytes = encode_world(world_);
  TableBatch batch;
  batch.put(kept_world_key(world_.position), bytes);
  worlds_.push_back({world_.position, bytes.size()});
  thin_worlds(batch);
  return stored_->write(batch, stored_->applied());
}

void PastHistory::thin_worlds(TableBatch& batch) {
  const std::size_t bytes =
      std::accumulate(worlds_.begin(), worlds_.end(), std::size_t{0},
                      [](std::size_t sum, const KeptWorld& each) { return sum + each.bytes; });
  if (worlds_.size() <= limits::past_kept_worlds_max &&
      bytes <= limits::past_kept_world_bytes_max) {
    return;
  }
  std::vector<KeptWorld> left;
  for (std::size_t each = 0; each < worlds_.size(); ++each) {
    if (each % 2 == 1) {
      left.push_back(worlds_[each]);
    } else {
      batch.erase(kept_world_key(worlds_[each].position));
    }
  }
  worlds_ = std::move(left);
  worlds_interval_ *= 2;
}

}  // namespace signalbox
