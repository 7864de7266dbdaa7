// Up to where spans have been sent, across restarts.
//
// It lies among what is disposable (<data>/projections/). Without it the exporter begins as it does
// the first time: with what was recorded in the latest `backfill`. What was sent before is then
// sent again, with the same ids; what is older and wasn't sent stays unsent.
#pragma once

#include <filesystem>
#include <optional>

#include "domain/ids.h"
#include "store/store_error.h"

namespace signalbox {

// Nothing where there is none, or none that can be read.
std::optional<Position> read_trace_cursor(const std::filesystem::path& file);

Stored<void> write_trace_cursor(const std::filesystem::path& file, Position position);

}  // namespace signalbox
