// Chooses the rows of the read models that are kept when records are dropped: the rows of kept
// runs, cards and ticks, those that belong to none of them in particular (the strategy ledger,
// pipelines in use), and the counts, recomputed over what is kept.
#pragma once

#include <functional>
#include <set>
#include <string_view>

#include "domain/ids.h"
#include "projections/table.h"

namespace signalbox {

// The runs, cards, ticks and pipelines whose rows are kept.
struct KeptNouns {
  std::set<RunId> runs;
  std::set<CardId> cards;
  std::set<Token> ticks;
  std::set<Digest> pipelines;  // in addition to the pipelines of the runs
};

// Calls `put` with each row that is kept, in no particular order. `table` must be a run index's.
// Errors as Table; also `damaged` for a row that can't be decoded.
Stored<void> for_each_kept_row(
    const Table& table, const KeptNouns& kept,
    const std::function<void(std::string_view key, std::string_view value)>& put);

}  // namespace signalbox
