// Which strategy rescued which class of error: for each project and station, how often an attempt
// with a strategy followed a failure of a class and came to an end of its own, and how often it
// succeeded. An attempt that was given back or canceled says nothing about its strategy.
//
// It lies in the table of the run index and is written with it, as the tick ledger does.
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
  std::uint64_t tried = 0;
  std::uint64_t succeeded = 0;

  friend bool operator==(const StrategyCounts&, const StrategyCounts&) = default;
};
BOOST_DESCRIBE_STRUCT(StrategyCounts, (), (tried, succeeded))

struct StrategyRow {
  std::string project;  // empty: of runs without one
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
  std::vector<StrategyRow> rows;  // by project, station, error class, strategy
  std::string next_cursor;        // bytes; empty: there are no more
};

class StrategyLedger {
 public:
  // The table outlives the ledger.
  explicit StrategyLedger(const Table& table) : table_(table) {}

  // One batch: begin(), then apply() each record of a run with the row as it was before, then put()
  // into what the owner of the table writes. One thread at a time.
  void begin() { changes_.clear(); }
  void apply(const RunRow& before, const Record& record);
  Stored<void> put(TableBatch& out);

  // At most `limit` matching rows after `cursor` (empty: from the first). Any thread, beside
  // apply() too.
  [[nodiscard]] Stored<StrategyPage> list(const StrategyFilter& filter, std::size_t limit,
                                          const std::string& cursor = {}) const;

 private:
  const Table& table_;
  std::map<std::string, StrategyCounts> changes_;  // of this batch, by key
};

}  // namespace signalbox
