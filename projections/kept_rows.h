// Chooses the rows of the read models that are kept when records are dropped: the rows of kept
// runs, cards and ticks, those that belong to none of them in particular (the strategy ledger,
// pipelines in use), the idempotency keys of dropped runs, and the counts, recomputed over what is
// kept.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "domain/ids.h"
#include "projections/table.h"

namespace signalbox {

namespace limits {
// Keys of dropped runs that are kept beside those that the world remembers: the newest ones.
inline constexpr std::size_t dropped_run_keys_max = 256 * 1024;
}  // namespace limits

// The runs, cards, ticks and pipelines whose rows are kept.
struct KeptNouns {
  std::set<RunId> runs;
  std::set<CardId> cards;
  std::set<Token> ticks;
  std::set<Digest> pipelines;  // in addition to the pipelines of the runs
};

// Calls `put` with each row that is kept, in no particular order. `table` must be a run index's.
// The row of a dropped run's idempotency key has the position of the run's end then; there is none
// if `is_remembered` returns true for the key, since the world at the horizon has it. Errors as
// Table; also `damaged` for a row that can't be decoded.
Stored<void> for_each_kept_row(
    const Table& table, const KeptNouns& kept,
    const std::function<bool(const std::string& idempotency_key)>& is_remembered,
    const std::function<void(std::string_view key, std::string_view value)>& put);

}  // namespace signalbox
