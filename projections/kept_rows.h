// Which rows of the read models stay when records are dropped: those of the runs, cards and ticks
// that stay, what isn't of any one of them (the strategy ledger, pipelines that are in use), and
// the counts, of what stays.
#pragma once

#include <functional>
#include <set>
#include <string_view>

#include "domain/ids.h"
#include "projections/table.h"

namespace signalbox {

struct KeptNouns {
  std::set<RunId> runs;
  std::set<CardId> cards;
  std::set<Token> ticks;
  std::set<Digest> pipelines;  // beside those of the runs
};

// Calls `put` with each row that stays, in no order. The table is a run index's.
Stored<void> for_each_kept_row(
    const Table& table, const KeptNouns& kept,
    const std::function<void(std::string_view key, std::string_view value)>& put);

}  // namespace signalbox
