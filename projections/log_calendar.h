// The read model of when how much happened: counts of events by type in intervals of three lengths,
// and the marks of the log, such as starts, crashes and failed runs.
//
// Its rows are in the table of the run index and are written in the same batches, so that both are
// as of the same position. It begins with the log's horizon.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include "domain/event.h"
#include "projections/row_page.h"
#include "store/horizon.h"

namespace signalbox {

// The events of one interval.
struct CalendarCell {
  Position first = 0;
  Position last = 0;
  std::map<std::uint16_t, std::uint64_t> counts;  // by the number of the type

  void add(Position position, std::uint16_t type);
  void add(const CalendarCell& other);

  friend bool operator==(const CalendarCell&, const CalendarCell&) = default;
};
BOOST_DESCRIBE_STRUCT(CalendarCell, (), (first, last, counts))

enum class LogMarkKind : std::uint8_t {
  start = 1,       // of the service
  stop = 2,        // of the service, by request
  crash = 3,       // before the present start
  clock_jump = 4,  // the machine slept, or its time was set
  retention = 5,   // records were dropped
  failure = 6      // of a run
};
BOOST_DESCRIBE_ENUM(LogMarkKind, start, stop, crash, clock_jump, retention, failure)

struct LogMark {
  Position position = 0;
  LogMarkKind kind = LogMarkKind::start;
  std::int64_t at_ns = 0;  // UTC
  RunId run_id{};          // of a failure; else nil
  std::string text;        // an error code, a cause, an archive; may be empty

  friend bool operator==(const LogMark&, const LogMark&) = default;
};
BOOST_DESCRIBE_STRUCT(LogMark, (), (position, kind, at_ns, run_id, text))

struct LogMarkFilter {
  std::vector<LogMarkKind> kinds;  // any of them; empty: all
  std::int64_t from_ns = 0;        // UTC, inclusive
  std::int64_t until_ns = 0;       // UTC, exclusive
};

class LogCalendar {
 public:
  static constexpr std::int64_t second_ns = 1'000'000'000;
  // The lengths of the intervals, each a multiple of the one before.
  static constexpr std::array<std::int64_t, 3> widths_ns = {10 * second_ns, 600 * second_ns,
                                                            4 * 3600 * second_ns};

  // `table` must outlive the calendar.
  explicit LogCalendar(const Table& table) : table_(table) {}

  // For each batch call begin(), then apply() for each record, which adds its mark to `out`, then
  // put(), which adds the changed cells. One thread at a time.
  void begin();
  void apply(const Record& record, TableBatch& out);
  Stored<void> put(TableBatch& out) const;

  // The queries below may be called on any thread, also concurrently with a batch.

  // Returns the longest of widths_ns that isn't longer than `width_ns`, else the shortest.
  static std::int64_t width_for(std::int64_t width_ns);
  // Calls `visit` with the start (ns, UTC) of each interval of this length, one of widths_ns, that
  // has events and begins in from_ns … until_ns - 1, and with its cell.
  Stored<void> for_each_cell(
      std::int64_t width_ns, std::int64_t from_ns, std::int64_t until_ns,
      const std::function<void(std::int64_t start_ns, const CalendarCell& cell)>& visit) const;

  // Returns positions between which all events of this time are, found by intervals of this length,
  // one of widths_ns; nullopt if there are none. Others may be between them, of the beginning of
  // the first interval, and because the clock may be set back.
  [[nodiscard]] Stored<std::optional<PositionRange>> positions(std::int64_t width_ns,
                                                               std::int64_t from_ns,
                                                               std::int64_t until_ns) const;

  // Returns at most `limit` matching marks after `cursor` (0: all), ascending by position, or with
  // ScanOrder::descending those before it, the latest first.
  [[nodiscard]] Stored<RowPage<LogMark>> marks(const LogMarkFilter& filter, ScanOrder order,
                                               std::size_t limit, Position cursor = 0) const;
  // Returns the time of the log's first event that is counted; nullopt if there is none.
  [[nodiscard]] Stored<std::optional<std::int64_t>> begin_ns() const;

 private:
  using CellKey = std::pair<std::size_t, std::uint64_t>;  // index in widths_ns, number of the cell

  struct Latest {
    std::uint64_t number = 0;
    CalendarCell* cell = nullptr;  // in changes_
  };

  const Table& table_;
  std::map<CellKey, CalendarCell> changes_;
  std::array<Latest, widths_ns.size()> latest_{};
};

}  // namespace signalbox
