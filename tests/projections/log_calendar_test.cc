// The calendar of the log: equal to counting the records one by one, for any batches.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "projections/memory_table.h"
#include "projections/run_index.h"
#include "tests/domain/random_history.h"

namespace signalbox {
namespace {

using Cells = std::map<std::int64_t, CalendarCell>;

Cells cells_of(const RunIndex& index, std::int64_t width_ns) {
  Cells cells;
  const auto read = index.calendar().for_each_cell(
      width_ns, -1'000'000'000'000'000'000, 3'000'000'000'000'000'000,
      [&cells](std::int64_t start_ns, const CalendarCell& cell) { cells[start_ns] = cell; });
  RC_ASSERT(read.has_value());
  return cells;
}

// Counting has the same result as the calendar, whose records come in batches of any sizes.
RC_GTEST_PROP(LogCalendarTest, EqualsANaiveCount, ()) {  // O5
  RandomHistory history;
  for (const Step& step : *random_steps()) history.take(step);
  const auto apart_ns = *rc::gen::element<std::int64_t>(1, 3'000'000'000, 700'000'000'000);
  for (Record& record : history.records) {
    record.recorded_at_ns = static_cast<std::int64_t>(record.position) * apart_ns;
  }
  MemoryTable table;
  RunIndex index(table);
  std::span<const Record> records(history.records);
  while (!records.empty()) {
    const auto size = std::min<std::size_t>(records.size(), *rc::gen::inRange<std::size_t>(1, 40));
    RC_ASSERT(index.apply(records.first(size)).has_value());
    records = records.subspan(size);
  }
  for (const std::int64_t width_ns : LogCalendar::widths_ns) {
    Cells expected;
    std::uint64_t failures = 0;
    for (const Record& record : history.records) {
      CalendarCell& cell = expected[record.recorded_at_ns / width_ns * width_ns];
      cell.add(record.position, tag_of(record.event).number);
      if (event_as<RunFailed>(record.event) != nullptr) ++failures;
    }
    RC_ASSERT(cells_of(index, width_ns) == expected);
    const LogMarkFilter filter{{LogMarkKind::failure}, 0, 3'000'000'000'000'000'000};
    const auto marks = index.calendar().marks(filter, ScanOrder::ascending, 100'000);
    RC_ASSERT(marks.has_value());
    RC_ASSERT(marks->rows.size() == failures);
  }
}

}  // namespace
}  // namespace signalbox
