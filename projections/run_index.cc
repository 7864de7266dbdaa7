#include "projections/run_index.h"

#include <algorithm>
#include <utility>

#include "domain/check.h"
#include "domain/try.h"
#include "projections/history_base.h"
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

bool same_letter(char left, char right) {
  const auto lower = [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  };
  return lower(left) == lower(right);
}

template <class Value>
bool is_among(const Value& value, const std::vector<Value>& values) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

Position place_in(RunOrder order, const RunRow& row) {
  switch (order) {
    case RunOrder::started:
      return row.started_position;
    case RunOrder::updated:
      return row.last_position;
    case RunOrder::ended:
      return row.ended_position;
  }
  return 0;
}

}  // namespace

bool RunFilter::matches(const RunRow& row) const {
  if (status && row.status != *status) return false;
  if (!statuses.empty() && !is_among(row.status, statuses)) return false;
  if (!waiting_for.empty() && (!row.waiting || !is_among(*row.waiting, waiting_for))) return false;
  if (project && row.project != *project) return false;
  if (station && row.station != *station) return false;
  if (error_code && row.error_code != *error_code) return false;
  if (text &&
      std::search(row.goal.begin(), row.goal.end(), text->begin(), text->end(), same_letter) ==
          row.goal.end() &&
      !text->empty()) {
    return false;
  }
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
      rows_(table),
      ticks_(table),
      locks_(table),
      strategies_(table),
      cards_(table),
      calendar_(table),
      batch_(std::make_unique<Batch>(*this)) {}
RunIndex::~RunIndex() = default;

Position RunIndex::applied() const { return table_.applied(); }
Stored<void> RunIndex::reopen() { return table_.reopen(); }
std::optional<std::string> RunIndex::held() const { return table_.held(); }

Stored<void> RunIndex::begin(const EventLog& log) {
  if (applied() == 0) return load_base_rows(table_, log);
  const auto same = TRY(matches_base(table_, log));
  if (!same) return damaged("rows of records that have been dropped from the log");
  return {};
}

Stored<void> RunIndex::add(const Record& record, Position& added) {
  if (record.position <= added) return {};
  SIGNALBOX_CHECK(record.position == added + 1);
  TRY(batch_->apply(record));
  added = record.position;
  return {};
}

Stored<void> RunIndex::apply(std::span<const Record> records) {
  Position added = table_.applied();
  batch_->begin();
  for (const Record& record : records) TRY(add(record, added));
  return added == table_.applied() ? Stored<void>() : batch_->write(added);
}

Stored<void> RunIndex::apply(const EventLog& log, Position from, Position to,
                             const std::function<void(const Record&)>& seen) {
  Position added = table_.applied();
  batch_->begin();
  Stored<void> applied;
  TRY(log.scan(from, to, [&](Record&& record) {
    if (seen) seen(record);
    applied = add(record, added);
    return applied.has_value();
  }));
  TRY(std::move(applied));
  return added == table_.applied() ? Stored<void>() : batch_->write(added);
}

Stored<std::optional<RunRow>> RunIndex::find(const RunId& run_id) const {
  return rows_.find(run_id);
}

Stored<std::optional<RunRow>> RunIndex::find_by_idempotency_key(std::string_view key) const {
  return rows_.find_by(keys::idempotency_key(key));
}

Stored<std::optional<Position>> RunIndex::dropped_run_of_key(std::string_view key) const {
  const auto value = TRY(table_.get(keys::idempotency_key(key)));
  if (!value) return std::nullopt;
  const Position position = keys::trailing_number(*value);
  const auto row = TRY(table_.get(keys::numbered(std::string(1, RunRows::rows), position)));
  return row ? std::nullopt : std::optional(position);
}

Stored<std::vector<RunId>> RunIndex::find_by_tail(std::string_view tail, std::size_t limit,
                                                  std::size_t visited_max) const {
  return rows_.find_by_tail(tail, limit, visited_max);
}

Stored<std::optional<PipelineDefinition>> RunIndex::find_pipeline(const Digest& digest) const {
  return read_row<PipelineDefinition>(table_, keys::pipeline(digest));
}

Stored<RunCounts> RunIndex::counts() const {
  return read_row<RunCounts>(table_, keys::counts).map([](const std::optional<RunCounts>& counts) {
    return counts.value_or(RunCounts{});
  });
}

// Narrows the range to the positions at which runs of the filter's times can have started. The wall
// clock may jump back, so every hour in between is read; a year has 8,766.
Stored<void> RunIndex::narrow_to_hours(PageRange& range, const RunFilter& filter) const {
  if (!filter.started_from_ns && !filter.started_until_ns) return {};
  range.first = range.last;
  range.last = 0;
  const std::string from = filter.started_from_ns
                               ? keys::hour(keys::hour_of(*filter.started_from_ns))
                               : std::string("h");
  const std::string until = filter.started_until_ns
                                ? keys::hour(keys::hour_of(*filter.started_until_ns))
                                : *after_prefix("h");
  return table_.scan(
      "h", from, ScanOrder::ascending, [&](std::string_view key, std::string_view value) {
        if (key > until) return false;
        range.first = std::min(range.first, keys::trailing_number(value.substr(0, 8)));
        range.last = std::max(range.last, keys::trailing_number(value));
        return true;
      });
}

// Returns the list that is likely the shortest, estimated without reading: of a status that few
// runs have, then of a label, of a project, of any status; otherwise all rows.
Stored<PageRange> RunIndex::list_for(const RunFilter& filter) const {
  if (filter.status) {
    const auto known = TRY(counts());
    const std::uint64_t entries = known.of(*filter.status);
    if (entries <= page_entries_max || (!filter.label && !filter.project)) {
      PageRange range{keys::status('s', *filter.status)};
      range.entries = entries;
      return range;
    }
  }
  if (filter.label) return PageRange{keys::label(filter.label->first, filter.label->second)};
  if (filter.project) return PageRange{keys::text(RunRows::projects, *filter.project)};
  return PageRange{std::string(1, RunRows::rows)};
}

Stored<RunPage> RunIndex::list(const RunFilter& filter, std::size_t limit, Position cursor) const {
  const Position as_of = applied();
  auto range = TRY(list_for(filter));
  range.limit = limit;
  TRY(narrow_to_hours(range, filter));
  range.end_before(cursor);
  const auto matches = [&filter](const RunRow& row) { return filter.matches(row); };
  if (range.entries == PageRange::any_number) return rows_.list(range, matches);
  auto page = TRY(rows_.list(range, matches));
  // A batch may have been written since the runs were counted: one, which may have changed the
  // count, or more, which have changed the position.
  const auto counted_again = TRY(counts());
  if (counted_again.of(*filter.status) == range.entries && applied() == as_of) return page;
  range.entries = PageRange::any_number;
  return rows_.list(range, matches);
}

Stored<bool> RunIndex::for_each(const RunFilter& filter, std::size_t entries_max,
                                const std::function<void(RunRow&&)>& visit) const {
  Position cursor = 0;
  for (std::size_t entries = 0; entries < entries_max; entries += page_entries_max) {
    auto page = TRY(list(filter, page_entries_max, cursor));
    for (RunRow& row : page.rows) visit(std::move(row));
    cursor = page.next_cursor;
    if (cursor == 0) return true;
  }
  return false;
}

Stored<std::optional<RunPage>> RunIndex::list_by(RunOrder order, const RunFilter& filter,
                                                 std::size_t limit, Position cursor,
                                                 std::size_t entries_max) const {
  if (order == RunOrder::started) {
    auto page = TRY(list(filter, limit, cursor));
    return page;
  }
  RunPage page;
  const auto later = [order](const RunRow& left, const RunRow& right) {
    return place_in(order, left) > place_in(order, right);
  };
  // Keeps one more than the page has, to know whether there is a next one.
  const auto keep_latest = [&] {
    std::sort(page.rows.begin(), page.rows.end(), later);
    if (page.rows.size() > limit + 1) page.rows.resize(limit + 1);
  };
  const auto is_whole = TRY(for_each(filter, entries_max, [&](RunRow&& row) {
    const Position place = place_in(order, row);
    if (place == 0 || (cursor != 0 && place >= cursor)) return;
    page.rows.push_back(std::move(row));
    if (page.rows.size() > 4 * (limit + 1)) keep_latest();
  }));
  if (!is_whole) return std::nullopt;
  keep_latest();
  if (page.rows.size() > limit) {
    page.rows.resize(limit);
    if (limit > 0) page.next_cursor = place_in(order, page.rows.back());
  }
  return page;
}

Stored<std::optional<RunCounts>> RunIndex::counts(RunFilter filter, std::size_t entries_max) const {
  filter.status.reset();
  filter.statuses.clear();
  if (filter == RunFilter{}) return TRY(counts());
  RunCounts found;
  const auto is_whole =
      TRY(for_each(filter, entries_max, [&found](RunRow&& row) { ++found.of(row.status); }));
  if (!is_whole) return std::nullopt;
  return found;
}

Stored<std::vector<Position>> RunIndex::run_positions(const RunId& run_id) const {
  return rows_.positions(run_id);
}

}  // namespace signalbox
