// The read model of all ticks there ever were: a row for the start of each, for its end, and for
// each event in between; listed by loop or run, newest first.
//
// Its rows are in the table of the run index and are written in the same batches, so that both are
// as of the same position.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "projections/row_page.h"
#include "projections/tick_row.h"

namespace signalbox {

struct TickFilter {
  std::optional<std::string> loop;
  std::optional<RunId> run_id;

  // Returns whether the row matches all criteria that are set.
  [[nodiscard]] bool matches(const TickRow& row) const;
};

using TickPage = RowPage<TickRow>;

class TickLedger {
 public:
  // `table` must outlive the ledger.
  explicit TickLedger(const Table& table) : table_(table) {}

  // For each batch call begin(), then apply() for each record of a loop's stream, which adds its
  // row to `out`; the owner of the table writes it. apply() fails with `damaged` if a tick's start
  // is unknown. One thread at a time.
  void begin() { starts_.clear(); }
  Stored<void> apply(const Record& record, TableBatch& out);

  // Returns at most `limit` matching rows before `cursor` (0: all), newest first. Any thread, also
  // concurrently with apply().
  [[nodiscard]] Stored<TickPage> list(const TickFilter& filter, std::size_t limit,
                                      Position cursor = 0) const;

 private:
  [[nodiscard]] Stored<std::optional<TickRow>> row_at(Position position) const;
  Stored<std::optional<TickRow>> start_of(Token token) const;
  static void put(const TickRow& row, TableBatch& out);

  const Table& table_;
  // Rows of the starts in the current batch, which aren't in the table yet.
  boost::unordered_flat_map<Token, TickRow> starts_;
};

}  // namespace signalbox
