// Computes the read models from the log into a table of their own, beside the living ones, so that
// the projector can exchange the two (Projector::replace_rows).
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>

#include "projections/table.h"
#include "store/event_log.h"

namespace signalbox {

// Returns the rows up to the log's present tail, in a new table in `directory`, whose former
// contents are deleted. Blocks while it reads the log from the horizon on. Fails with `io` once
// `stopped` is set, and as the log and the table do; then nothing is left in `directory`.
Stored<std::unique_ptr<Table>> compute_rows(const EventLog& log,
                                            const std::filesystem::path& directory,
                                            const std::atomic<bool>& stopped);

// Computes the read models from the log into `table`, which must be empty; errors as
// compute_rows().
Stored<void> fill_rows(const EventLog& log, Table& table, const std::atomic<bool>& stopped);

}  // namespace signalbox
