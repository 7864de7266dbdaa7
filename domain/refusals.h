// The refusals that several command families share, in one wording.
#pragma once

#include <optional>
#include <string>

#include "domain/error.h"
#include "domain/run.h"
#include "domain/world.h"

namespace signalbox {

// Checks, in this order: the run exists, it isn't terminal. Gives the open run.
Decided<const Run*> open_run(const World& world, const RunId& id);

// open_run(), and its current station is deep work that was begun: PLAN_NOT_FOUND. Each command
// about a plan or a step passes this.
Decided<const Run*> planned_run(const World& world, const RunId& id);

// planned_run(), and `token` is that of the station's attempt under way: STALE_TOKEN. Where
// `station` isn't empty it must be the current one: PLAN_NOT_FOUND.
Decided<const Run*> planned_station(const World& world, const RunId& id, const std::string& station,
                                    Token token);

struct HeldStep {
  const Run* run;
  const StepState* step;
};

// planned_run(), and the step's attempt of `token` is under way: STEP_NOT_FOUND, STALE_TOKEN.
Decided<HeldStep> held_step(const World& world, const RunId& id, const std::string& step,
                            Token token);

// INVALID_PARAMS unless min ≤ value ≤ max; `field` is named with its unit.
Decided<void> require_between(const char* field, std::int64_t value, std::int64_t min,
                              std::int64_t max);

// require_between for a lease; none is fine.
Decided<void> require_lease(const std::optional<std::int64_t>& lease_ms);

// LIMIT_EXCEEDED if `text` is longer than `bytes_max`.
Decided<void> require_at_most(const char* field, const std::string& text, std::size_t bytes_max);

// INVALID_PARAMS if `text` is empty, else as require_at_most.
Decided<void> require_name(const char* field, const std::string& text, std::size_t bytes_max);

// As require_name; INVALID_PARAMS also for control characters, which would spoil what people read.
Decided<void> require_line(const char* field, const std::string& text, std::size_t bytes_max);

// LOCK_LOST unless a lock is held with this token; no token is fine.
Decided<void> require_lock(const World& world, const std::optional<Token>& lock_token);

// INVALID_PARAMS unless the path is absolute and not too long; none is fine.
Decided<void> require_absolute(const char* field, const std::optional<std::string>& path);

// `text` as one word of a shell's command line.
std::string shell_word(const std::string& text);

// The text of a status or another described enumerator.
const char* name_of(RunStatus status);
const char* name_of(StationStatus status);
const char* name_of(TickStatus status);
const char* name_of(PlanStatus status);
const char* name_of(StepStatus status);
const char* name_of(Strategy strategy);
const char* name_of(CardStatus status);

}  // namespace signalbox
