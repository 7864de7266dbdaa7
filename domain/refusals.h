// The refusals that several command families share, in one wording.
#pragma once

#include <string>

#include "domain/error.h"
#include "domain/run.h"
#include "domain/world.h"

namespace signalbox {

// Checks, in this order: the run exists, it isn't terminal. Gives the open run.
Decided<const Run*> open_run(const World& world, const RunId& id);

// INVALID_PARAMS unless min ≤ value ≤ max; `field` is named with its unit.
Decided<void> require_between(const char* field, std::int64_t value, std::int64_t min,
                              std::int64_t max);

// LIMIT_EXCEEDED if `text` is longer than `bytes_max`.
Decided<void> require_at_most(const char* field, const std::string& text, std::size_t bytes_max);

// INVALID_PARAMS if `text` is empty, else as require_at_most.
Decided<void> require_name(const char* field, const std::string& text, std::size_t bytes_max);

// The text of a status or another described enumerator.
const char* name_of(RunStatus status);
const char* name_of(StationStatus status);

}  // namespace signalbox
