// The read model of which strategy helped against which class of error. For each project and
// station it counts the attempts with a strategy that followed a failure of a class and ended by
// themselves, and how many of them succeeded. An attempt that was given back or canceled isn't
// counted.
//
// Its rows are in the table of the run index and are written in the same batches, like the tick
// ledger's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>

#include "projections/row_page.h"
#include "projections/run_row.h"

namespace signalbox {

struct StrategyCounts {
  // Attempts that ended by themselves.
  std::uint64_t tried = 0;
  std::uint64_t succeeded = 0;

  friend bool operator==(const StrategyCounts&, const StrategyCounts&) = default;
};
BOOST_DESCRIBE_STRUCT(StrategyCounts, (), (tried, succeeded))

struct StrategyRow {
  std::string project;  // empty: runs without a project
  std::string station;
  ErrorClass error_class = ErrorClass::terminal;
  Strategy strategy = Strategy::original;
  StrategyCounts counts;

  friend bool operator==(const StrategyRow&, const StrategyRow&) = default;
};

struct StrategyFilter {
  std::optional<std::string> project;
  std::optional<std::string> station;
};

struct StrategyPage {
  std::vector<StrategyRow> rows;  // ordered by project, station, error class, strategy
  std::string next_cursor;        // opaque bytes; empty: there are no more rows
};

class StrategyLedger {
 public:
  // `table` must outlive the ledger.
  explicit StrategyLedger(const Table& table) : table_(table) {}

  // For each batch call begin(), then apply() for each record of a run with the row as it was
  // before the record, then put(), which adds the resulting rows to `out`; the owner of the table
  // writes them. One thread at a time.
  void begin() { changes_.clear(); }
  void apply(const RunRow& before, const Record& record);
  Stored<void> put(TableBatch& out);

  // Returns at most `limit` matching rows after `cursor` (empty: from the first). Any thread, also
  // concurrently with apply().
  [[nodiscard]] Stored<StrategyPage> list(const StrategyFilter& filter, std::size_t limit,
                                          const std::string& cursor = {}) const;

 private:
  const Table& table_;
  std::map<std::string, StrategyCounts> changes_;  // counts of the current batch, by key
};

}  // namespace signalbox
