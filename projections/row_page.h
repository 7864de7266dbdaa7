// A page of the rows that a list in a table names, newest first, and how it is read.
#pragma once

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

// List entries that one page looks at, at most; then it is given with fewer rows and a cursor.
inline constexpr std::size_t page_entries_max = 10'000;

template <class Row>
struct RowPage {
  std::vector<Row> rows;     // newest first
  Position next_cursor = 0;  // 0: there are no more
};

struct PageRange {
  std::string list;  // what the keys of its entries begin with; a position follows
  Position first = 0;
  Position last = std::numeric_limits<Position>::max();
  std::size_t limit = 0;  // of rows

  // Narrows the range to what comes before `cursor`; 0 leaves it as it is.
  void end_before(Position cursor) {
    if (cursor != 0 && cursor - 1 < last) last = cursor - 1;
  }
};

// Calls `row_at(position, value)` with the entries of the range, the latest first, and keeps the
// rows for which `matches` holds. An entry without a row is passed over.
template <class Row, class RowAt, class Matches>
Stored<RowPage<Row>> read_page(const Table& table, const PageRange& range, RowAt&& row_at,
                               Matches&& matches) {
  RowPage<Row> page;
  if (range.limit == 0 || range.last < range.first) return page;
  std::optional<StoreError> failure;
  Position looked_at = 0;
  std::size_t looks = 0;
  const auto visit = [&](std::string_view key, std::string_view value) {
    const Position position = run_index_keys::trailing_number(key);
    if (position < range.first) return false;
    if (page.rows.size() == range.limit || looks == page_entries_max) {
      page.next_cursor = looked_at;
      return false;
    }
    looked_at = position;
    ++looks;
    Stored<std::optional<Row>> row = row_at(position, value);
    if (!row) {
      failure = std::move(row.error());
      return false;
    }
    if (*row && matches(**row)) page.rows.push_back(std::move(**row));
    return true;
  };
  TRY(table.scan(range.list, run_index_keys::numbered(range.list, range.last),
                 ScanOrder::descending, visit));
  if (failure) return tl::unexpected(std::move(*failure));
  return page;
}

}  // namespace signalbox
