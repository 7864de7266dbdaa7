// The read model of all ticks there ever were: a row for the start of each, for its finish, and for
// what happened in between; listed by loop or run, newest first.
//
// It lies in the table of the run index and is written with it, batch by batch, so that both are
// true of the same position.
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

  [[nodiscard]] bool matches(const TickRow& row) const;
};

using TickPage = RowPage<TickRow>;

class TickLedger {
 public:
  // The table outlives the ledger.
  explicit TickLedger(const Table& table) : table_(table) {}

  // One batch: begin(), then apply() each record, which puts its row into `out`; whoever owns the
  // table writes that. One thread at a time.
  void begin() { starts_.clear(); }
  Stored<void> apply(const Record& record, TableBatch& out);

  // At most `limit` matching rows before `cursor` (0: all). Any thread, beside apply() too.
  [[nodiscard]] Stored<TickPage> list(const TickFilter& filter, std::size_t limit,
                                      Position cursor = 0) const;

 private:
  [[nodiscard]] Stored<std::optional<TickRow>> row_at(Position position) const;
  Stored<std::optional<TickRow>> start_of(Token token) const;
  static void put(const TickRow& row, TableBatch& out);

  const Table& table_;
  // Of this batch: they aren't in the table yet.
  boost::unordered_flat_map<Token, TickRow> starts_;
};

}  // namespace signalbox
