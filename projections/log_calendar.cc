#include "projections/log_calendar.h"

#include <algorithm>

#include "domain/check.h"
#include "domain/try.h"
#include "projections/row_codec.h"
#include "projections/run_index_keys.h"

namespace signalbox {
namespace {

namespace keys = run_index_keys;

constexpr char cells_kind = 'C';
constexpr char marks_kind = 'M';

// Offsets the numbers of cells so that times before 1970 also sort first.
constexpr std::uint64_t cell_of_1970 = std::uint64_t{1} << 63U;

std::uint64_t cell_number(std::int64_t time_ns, std::int64_t width_ns) {
  const std::int64_t number = time_ns / width_ns - (time_ns % width_ns < 0 ? 1 : 0);
  return static_cast<std::uint64_t>(number) + cell_of_1970;
}
std::int64_t cell_start_ns(std::uint64_t number, std::int64_t width_ns) {
  return static_cast<std::int64_t>(number - cell_of_1970) * width_ns;
}

std::string cells_prefix(std::size_t level) {
  return {cells_kind, static_cast<char>('0' + static_cast<int>(level))};
}

std::size_t level_of(std::int64_t width_ns) {
  const auto found =
      std::find(LogCalendar::widths_ns.begin(), LogCalendar::widths_ns.end(), width_ns);
  SIGNALBOX_CHECK(found != LogCalendar::widths_ns.end());
  return static_cast<std::size_t>(found - LogCalendar::widths_ns.begin());
}

std::optional<LogMark> mark_of(const Record& record) {
  LogMark mark;
  mark.position = record.position;
  mark.at_ns = record.recorded_at_ns;
  if (event_as<ServerStarted>(record.event) != nullptr) {
    mark.kind = LogMarkKind::start;
  } else if (event_as<ServerStopped>(record.event) != nullptr) {
    mark.kind = LogMarkKind::stop;
  } else if (event_as<RecoveryFinished>(record.event) != nullptr) {
    mark.kind = LogMarkKind::crash;
  } else if (const auto* jumped = event_as<ClockJumped>(record.event)) {
    mark.kind = LogMarkKind::clock_jump;
    mark.text = jumped->cause;
  } else if (const auto* dropped = event_as<HistoryDropped>(record.event)) {
    mark.kind = LogMarkKind::retention;
    mark.text = dropped->archive;
  } else if (const auto* failed = event_as<RunFailed>(record.event)) {
    mark.kind = LogMarkKind::failure;
    mark.run_id = record.stream.run_id;
    mark.text = failed->code;
  } else {
    return std::nullopt;
  }
  return mark;
}

}  // namespace

void CalendarCell::add(Position position, std::uint16_t type) {
  if (first == 0) first = position;
  last = position;
  ++counts[type];
}

void CalendarCell::add(const CalendarCell& other) {
  first = first == 0 ? other.first : std::min(first, other.first);
  last = std::max(last, other.last);
  for (const auto& [type, count] : other.counts) counts[type] += count;
}

void LogCalendar::begin() {
  changes_.clear();
  latest_ = {};
}

void LogCalendar::apply(const Record& record, TableBatch& out) {
  const std::uint16_t type = tag_of(record.event).number;
  for (std::size_t level = 0; level < widths_ns.size(); ++level) {
    Latest& latest = latest_[level];
    const std::uint64_t number = cell_number(record.recorded_at_ns, widths_ns[level]);
    if (latest.cell == nullptr || latest.number != number) {
      latest = {number, &changes_[{level, number}]};
    }
    latest.cell->add(record.position, type);
  }
  if (const auto mark = mark_of(record)) {
    out.put(keys::numbered(std::string(1, marks_kind), mark->position), encode_row(*mark));
  }
}

Stored<void> LogCalendar::put(TableBatch& out) const {
  for (const auto& [place, change] : changes_) {
    const std::string key = keys::numbered(cells_prefix(place.first), place.second);
    auto before = TRY(read_row<CalendarCell>(table_, key));
    CalendarCell cell = before ? std::move(*before) : CalendarCell{};
    cell.add(change);
    out.put(key, encode_row(cell));
  }
  return {};
}

std::int64_t LogCalendar::width_for(std::int64_t width_ns) {
  std::int64_t longest = widths_ns.front();
  for (const std::int64_t each : widths_ns) {
    if (each <= width_ns) longest = each;
  }
  return longest;
}

Stored<void> LogCalendar::for_each_cell(
    std::int64_t width_ns, std::int64_t from_ns, std::int64_t until_ns,
    const std::function<void(std::int64_t start_ns, const CalendarCell& cell)>& visit) const {
  const std::string prefix = cells_prefix(level_of(width_ns));
  std::optional<StoreError> failure;
  TRY(table_.scan(prefix, keys::numbered(prefix, cell_number(from_ns, width_ns)),
                  ScanOrder::ascending, [&](std::string_view key, std::string_view value) {
                    const std::int64_t start_ns =
                        cell_start_ns(keys::trailing_number(key), width_ns);
                    if (start_ns >= until_ns) return false;
                    if (start_ns < from_ns) return true;
                    const auto cell = decode_row<CalendarCell>(value);
                    if (!cell) {
                      failure = cell.error();
                      return false;
                    }
                    visit(start_ns, *cell);
                    return true;
                  }));
  if (failure) return tl::unexpected(std::move(*failure));
  return {};
}

Stored<std::optional<PositionRange>> LogCalendar::positions(std::int64_t width_ns,
                                                            std::int64_t from_ns,
                                                            std::int64_t until_ns) const {
  std::optional<PositionRange> range;
  const std::int64_t begin_ns = cell_start_ns(cell_number(from_ns, width_ns), width_ns);
  TRY(for_each_cell(width_ns, begin_ns, until_ns, [&range](std::int64_t, const CalendarCell& cell) {
    if (!range) range = PositionRange{cell.first, cell.last};
    range->first = std::min(range->first, cell.first);
    range->last = std::max(range->last, cell.last);
  }));
  return range;
}

Stored<RowPage<LogMark>> LogCalendar::marks(const LogMarkFilter& filter, ScanOrder order,
                                            std::size_t limit, Position cursor) const {
  RowPage<LogMark> page;
  const auto range = TRY(positions(widths_ns.back(), filter.from_ns, filter.until_ns));
  if (!range) return page;
  Position first = range->first;
  Position last = range->last;
  const bool ascending = order == ScanOrder::ascending;
  if (cursor != 0 && ascending) first = std::max(first, cursor + 1);
  if (cursor != 0 && !ascending) last = std::min(last, cursor - 1);
  if (limit == 0 || last < first) return page;
  std::optional<StoreError> failure;
  Position last_visited = 0;
  std::size_t visited = 0;
  const auto visit = [&](std::string_view key, std::string_view value) {
    const Position position = keys::trailing_number(key);
    if (position < first || position > last) return false;
    if (page.rows.size() == limit || visited == page_entries_max) {
      page.next_cursor = last_visited;
      return false;
    }
    last_visited = position;
    ++visited;
    auto mark = decode_row<LogMark>(value);
    if (!mark) {
      failure = std::move(mark.error());
      return false;
    }
    const bool is_wanted =
        filter.kinds.empty() ||
        std::find(filter.kinds.begin(), filter.kinds.end(), mark->kind) != filter.kinds.end();
    if (is_wanted && mark->at_ns >= filter.from_ns && mark->at_ns < filter.until_ns) {
      page.rows.push_back(std::move(*mark));
    }
    return true;
  };
  const std::string prefix(1, marks_kind);
  TRY(table_.scan(prefix, keys::numbered(prefix, ascending ? first : last), order, visit));
  if (failure) return tl::unexpected(std::move(*failure));
  return page;
}

Stored<std::optional<std::int64_t>> LogCalendar::begin_ns() const {
  std::optional<std::int64_t> begin;
  const std::string prefix = cells_prefix(0);
  TRY(table_.scan(prefix, prefix, ScanOrder::ascending,
                  [&begin](std::string_view key, std::string_view) {
                    begin = cell_start_ns(keys::trailing_number(key), widths_ns.front());
                    return false;
                  }));
  return begin;
}

}  // namespace signalbox
