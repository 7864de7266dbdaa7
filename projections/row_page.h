// Pages of the rows that a list in a table refers to, newest first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/try.h"
#include "projections/run_index_keys.h"
#include "projections/table.h"

namespace signalbox {

// Maximum number of list entries visited for one page; a page that reaches it has fewer rows and a
// cursor.
inline constexpr std::size_t page_entries_max = 10'000;

template <class Row>
struct RowPage {
  std::vector<Row> rows;     // newest first
  Position next_cursor = 0;  // 0: there are no more rows
};

struct PageRange {
  std::string list;  // key prefix of the list's entries; a position follows it
  // Positions of the entries, inclusive.
  Position first = 0;
  Position last = std::numeric_limits<Position>::max();
  std::size_t limit = 0;  // maximum number of rows
  // Entries that the list has at most. Nothing is looked for beyond them.
  static constexpr std::size_t any_number = std::numeric_limits<std::size_t>::max();
  std::size_t entries = any_number;

  // Narrows the range to the positions before `cursor`; 0 leaves it unchanged.
  void end_before(Position cursor) {
    if (cursor != 0 && cursor - 1 < last) last = cursor - 1;
  }
};

// Reads a page: calls `row_at(position, value)` with the entries of the range, latest first, and
// keeps the rows for which `matches` returns true. Skips an entry without a row.
//
// In an earlier version of the rows (versioned_table.h) a scan passes over what came later, and
// over what had left the list before. So it begins at the table's position, and ends with the last
// entry.
template <class Row, class RowAt, class Matches>
Stored<RowPage<Row>> read_page(const Table& table, const PageRange& range, RowAt&& row_at,
                               Matches&& matches) {
  RowPage<Row> page;
  if (range.limit == 0 || range.entries == 0 || range.last < range.first) return page;
  std::optional<StoreError> failure;
  Position last_visited = 0;
  std::size_t visited = 0;
  const auto visit = [&](std::string_view key, std::string_view value) {
    const Position position = run_index_keys::trailing_number(key);
    if (position < range.first) return false;
    if (page.rows.size() == range.limit || visited == page_entries_max) {
      page.next_cursor = last_visited;
      return false;
    }
    last_visited = position;
    ++visited;
    Stored<std::optional<Row>> row = row_at(position, value);
    if (!row) {
      failure = std::move(row.error());
      return false;
    }
    if (*row && matches(**row)) page.rows.push_back(std::move(**row));
    return visited < range.entries;
  };
  const Position latest = std::min(range.last, table.applied());
  TRY(table.scan(range.list, run_index_keys::numbered(range.list, latest), ScanOrder::descending,
                 visit));
  if (failure) return tl::unexpected(std::move(*failure));
  return page;
}

}  // namespace signalbox
