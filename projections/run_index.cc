#include "projections/run_index.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "domain/check.h"
#include "projections/history_base.h"
#include "projections/position_list.h"
#include "projections/row_codec.h"
#include "projections/run_index_batch.h"
#include "projections/run_index_keys.h"

namespace signalbox {
namespace {

namespace keys = run_index_keys;

tl::unexpected<StoreError> damaged(const std::string& what) {
  StoreError error;
  error.kind = StoreError::Kind::damaged;
  error.message = "the run index has " + what;
  return tl::unexpected(std::move(error));
}

template <class Row>
Stored<std::optional<Row>> decoded(Stored<std::optional<std::string>> bytes) {
  if (!bytes) return tl::unexpected(std::move(bytes.error()));
  if (!*bytes) return std::nullopt;
  auto row = decode_row<Row>(**bytes);
  if (!row) return tl::unexpected(std::move(row.error()));
  return std::move(*row);
}

}  // namespace

bool RunFilter::matches(const RunRow& row) const {
  if (status && row.status != *status) return false;
  if (project && row.project != *project) return false;
  if (label) {
    const auto place = row.labels.find(label->first);
    if (place == row.labels.end() || place->second != label->second) return false;
  }
  if (started_from_ns && row.started_at_ns < *started_from_ns) return false;
  return !started_until_ns || row.started_at_ns < *started_until_ns;
}

std::uint64_t& RunCounts::of(RunStatus status) {
  switch (status) {
    case RunStatus::queued:
      return queued;
    case RunStatus::running:
      return running;
    case RunStatus::succeeded:
      return succeeded;
    case RunStatus::failed:
      return failed;
    case RunStatus::canceled:
      return canceled;
    case RunStatus::paused:
      return paused;
  }
  SIGNALBOX_CHECK(!"a run has one of these statuses");
  return canceled;
}

RunIndex::RunIndex(Table& table)
    : table_(table),
      ticks_(table),
      strategies_(table),
      cards_(table),
      batch_(std::make_unique<Batch>(*this)) {}
RunIndex::~RunIndex() = default;

Position RunIndex::applied() const { return table_.applied(); }
Stored<void> RunIndex::take_up_again() { return table_.take_up_again(); }
std::optional<std::string> RunIndex::held() const { return table_.held(); }

Stored<void> RunIndex::begin(const EventLog& log) {
  if (applied() == 0) return begin_with_base(table_, log);
  const auto same = begins_as(table_, log);
  if (!same) return tl::unexpected(same.error());
  if (!*same) return damaged("rows of records that have been dropped from the log");
  return {};
}

Stored<void> RunIndex::apply(std::span<const Record> records) {
  Position applied = table_.applied();
  batch_->begin();
  for (const Record& record : records) {
    if (record.position <= applied) continue;
    SIGNALBOX_CHECK(record.position == applied + 1);
    if (auto taken = batch_->take(record); !taken) return taken;
    applied = record.position;
  }
  if (applied == table_.applied()) return {};
  return batch_->write(applied);
}

Stored<Position> RunIndex::started_of(std::string_view key) const {
  const auto started = table_.get(key);
  if (!started) return tl::unexpected(started.error());
  return *started ? keys::trailing_number(**started) : 0;
}

Stored<std::optional<RunRow>> RunIndex::row_at(Position started) const {
  if (started == 0) return std::nullopt;
  return decoded<RunRow>(table_.get(keys::row(started)));
}

Stored<std::optional<RunRow>> RunIndex::find(const RunId& run_id) const {
  return started_of(keys::run_id(run_id)).and_then([this](Position started) {
    return row_at(started);
  });
}

Stored<std::optional<RunRow>> RunIndex::find_by_idempotency_key(std::string_view key) const {
  return started_of(keys::idempotency_key(key)).and_then([this](Position started) {
    return row_at(started);
  });
}

Stored<std::optional<PipelineDefinition>> RunIndex::find_pipeline(const Digest& digest) const {
  return decoded<PipelineDefinition>(table_.get(keys::pipeline(digest)));
}

Stored<RunCounts> RunIndex::counts() const {
  return decoded<RunCounts>(table_.get(keys::counts))
      .map([](const std::optional<RunCounts>& counts) { return counts.value_or(RunCounts{}); });
}

// The positions at which runs of the filter's times can have started: first and last. The wall
// clock may jump back, so all hours of the range are looked at; there are 8,766 in a year.
Stored<std::pair<Position, Position>> RunIndex::window_of(const RunFilter& filter) const {
  constexpr Position last_position = std::numeric_limits<Position>::max();
  if (!filter.started_from_ns && !filter.started_until_ns) return {{0, last_position}};
  std::pair<Position, Position> window{last_position, 0};
  const std::string from = filter.started_from_ns
                               ? keys::hour(keys::hour_of(*filter.started_from_ns))
                               : std::string("h");
  const std::string until = filter.started_until_ns
                                ? keys::hour(keys::hour_of(*filter.started_until_ns))
                                : *after_prefix("h");
  const auto scanned = table_.scan(
      "h", from, ScanOrder::ascending, [&](std::string_view key, std::string_view value) {
        if (key > until) return false;
        window.first = std::min(window.first, keys::trailing_number(value.substr(0, 8)));
        window.second = std::max(window.second, keys::trailing_number(value));
        return true;
      });
  if (!scanned) return tl::unexpected(scanned.error());
  return window;
}

// The prefix of the index that has the fewest entries, as far as that is known without looking: a
// status that few runs have, then a label, then a project, then any status; else the rows.
Stored<std::string> RunIndex::index_for(const RunFilter& filter) const {
  if (filter.status) {
    const auto known = counts();
    if (!known) return tl::unexpected(known.error());
    const bool few = known->of(*filter.status) <= page_entries_max;
    if (few || (!filter.label && !filter.project)) return keys::status(*filter.status);
  }
  if (filter.label) return keys::label(filter.label->first, filter.label->second);
  if (filter.project) return keys::project(*filter.project);
  return std::string("r");
}

Stored<RunPage> RunIndex::list(const RunFilter& filter, std::size_t limit, Position cursor) const {
  RunPage page;
  const auto window = window_of(filter);
  if (!window) return tl::unexpected(window.error());
  const auto index = index_for(filter);
  if (!index) return tl::unexpected(index.error());
  auto [first, last] = *window;
  if (cursor != 0) last = std::min(last, cursor - 1);

  std::optional<StoreError> failure;
  Position looked_at = 0;
  std::size_t looks = 0;
  const auto look = [&](std::string_view key, std::string_view value) {
    const Position started = keys::trailing_number(key);
    if (started < first) return false;
    if (page.rows.size() == limit || looks == page_entries_max) {
      page.next_cursor = looked_at;
      return false;
    }
    looked_at = started;
    ++looks;
    auto row = *index == "r" ? decoded<RunRow>(std::string(value)) : row_at(started);
    if (row && !*row) row = damaged("an index entry without a row");
    if (!row) {
      failure = std::move(row.error());
      return false;
    }
    if (filter.matches(**row)) page.rows.push_back(std::move(**row));
    return true;
  };
  if (limit == 0 || last < first) return page;
  const auto scanned =
      table_.scan(*index, keys::numbered(*index, last), ScanOrder::descending, look);
  if (!scanned) return tl::unexpected(scanned.error());
  if (failure) return tl::unexpected(std::move(*failure));
  return page;
}

Stored<std::vector<Position>> RunIndex::run_positions(const RunId& run_id) const {
  const auto started = started_of(keys::run_id(run_id));
  if (!started) return tl::unexpected(started.error());
  std::vector<Position> positions;
  if (*started == 0) return positions;
  bool readable = true;
  const std::string prefix = keys::events(*started);
  const auto scanned = table_.scan(
      prefix, prefix, ScanOrder::ascending, [&](std::string_view /*key*/, std::string_view value) {
        const auto chunk = decode_positions(value);
        readable = chunk.has_value();
        if (!readable) return false;
        positions.insert(positions.end(), chunk->begin(), chunk->end());
        return true;
      });
  if (!scanned) return tl::unexpected(scanned.error());
  if (!readable) return damaged("a list of positions that can't be read");
  return positions;
}

}  // namespace signalbox
