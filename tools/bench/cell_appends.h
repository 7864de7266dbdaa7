// Appends to a PostgreSQL database by one connection, one after the other: what a cell is compared
// with, and the cell's own statement beside it.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "store/shared_log.h"
#include "tools/bench/cell_database.h"
#include "tools/cli/call_error.h"

namespace signalbox {

struct AppendSpeed {
  double per_second = 0;
  double p99_us = 0;
};

// Inserts rows with the heads and bytes of these links, in turn, for `duration`: into a new table
// with the columns of a cell's, with no look at the link before or at who may write, each committed
// as durably as the cell's. There must be a link.
Called<AppendSpeed> append_bare(const CellDatabase& database, const std::vector<ChainLink>& links,
                                std::chrono::nanoseconds duration);

// Appends such links to a new cell for `duration`, as its writer does and with a beat at the
// writer's pace, and makes a bare append after each. Returns the median of the cell's appends, in
// medians of the bare ones: both of the second half, when there is most to hold the statement up.
// With `is_held`, another session holds a snapshot from before the first append to the end, as
// pg_dump does.
Called<double> append_to_cell(CellDatabase& database, const std::vector<ChainLink>& links,
                              bool is_held, std::chrono::nanoseconds duration);

}  // namespace signalbox
