// Guards that several command families share, with one wording of their rejections, and the names
// of enumerators for messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/error.h"
#include "domain/run.h"
#include "domain/sender.h"
#include "domain/station_events.h"
#include "domain/world.h"

namespace signalbox {

// Returns the open run. RUN_NOT_FOUND, RUN_TERMINAL.
Decided<const Run*> open_run(const World& world, const RunId& id);

// Checks open_run(), and that the current station is deep work that was begun (PLAN_NOT_FOUND).
// Each command about a plan or a step passes this guard.
Decided<const Run*> planned_run(const World& world, const RunId& id);

// Checks planned_run(), that `station`, unless it is empty, is the current one (PLAN_NOT_FOUND),
// that `token` is that of the station's attempt under way (STALE_TOKEN), and that `by` may use it
// (FORBIDDEN).
Decided<const Run*> planned_station(const World& world, const RunId& id, const std::string& station,
                                    Token token, const Sender& by);

// A step whose attempt is under way, and its run. Points into the world.
struct HeldStep {
  const Run* run;
  const StepState* step;
};

// Checks planned_run(), that the step exists (STEP_NOT_FOUND), that its attempt of `token` is under
// way (STALE_TOKEN), and that `by` may use the token or is the job of the station (FORBIDDEN).
Decided<HeldStep> held_step(const World& world, const RunId& id, const std::string& step,
                            Token token, const Sender& by);

// LIMIT_EXCEEDED if the run has as many records as its workers may make it have. For each command
// by which an attempt, or attempts that don't count as failures, could add any number of them.
Decided<void> require_room(const Run& run);

// INVALID_PARAMS unless min ≤ value ≤ max. `field` is the parameter's name, with its unit.
Decided<void> require_between(const char* field, std::int64_t value, std::int64_t min,
                              std::int64_t max);

// Checks a lease with require_between(). An absent lease is accepted.
Decided<void> require_lease(const std::optional<std::int64_t>& lease_ms);

// LIMIT_EXCEEDED if `text` is longer than `bytes_max`.
Decided<void> require_at_most(const char* field, const std::string& text, std::size_t bytes_max);

// INVALID_PARAMS if `text` is empty, LIMIT_EXCEEDED if it is longer than `bytes_max`.
Decided<void> require_not_empty(const char* field, const std::string& text, std::size_t bytes_max);

// Checks require_not_empty(); INVALID_PARAMS also for a text of only blanks (shows_nothing()),
// which is what becomes of a script's variable that has none. For each text that somebody has to
// give.
Decided<void> require_name(const char* field, const std::string& text, std::size_t bytes_max);

// Checks require_name(); INVALID_PARAMS also for control characters, which would garble output for
// people.
Decided<void> require_line(const char* field, const std::string& text, std::size_t bytes_max);

// As require_line(), for the name of something that there may be: blanks alone are looked for like
// any name, since earlier versions gave such names.
Decided<void> require_known_line(const char* field, const std::string& text, std::size_t bytes_max);

// Checks that work can begin from `base`, which git is given: require_line(), and INVALID_PARAMS
// for what git takes for an option, or for all but what is named. `what` says what it must be.
Decided<void> require_base(const std::string& base, const char* what);

// Returns whether an artifact can be asked for by this name: it isn't empty, and has no NUL and no
// part "." or "..", which clients of HTTP take out of a URL before they send it.
[[nodiscard]] bool is_artifact_name(std::string_view name);

// LIMIT_EXCEEDED if there are more artifacts than an attempt may name beside their bundle, or if a
// name or media type is too long; INVALID_PARAMS if there is more than one bundle, or a name that
// is none (is_artifact_name()).
Decided<void> require_artifacts(const std::vector<Artifact>& artifacts);

// INVALID_PARAMS if `url` has a user or password (url_parts.h), because the log would keep it.
// `instead` says where credentials belong, `next_command` prepares that.
Decided<void> require_no_credentials(const char* field, const std::string& url,
                                     const std::string& instead, std::string next_command);

// INVALID_PARAMS unless `text` is made of letters, digits and `._:/-` only; LIMIT_EXCEEDED if it is
// longer than `bytes_max`. For texts that can't be erased later; an empty one is accepted.
Decided<void> require_token(const char* field, const std::string& text, std::size_t bytes_max);

// LOCK_LOST unless a lock is held with this token, FORBIDDEN unless `by` may use it. An absent
// token is accepted.
Decided<void> require_lock(const World& world, const std::optional<Token>& lock_token,
                           const Sender& by);

// INVALID_PARAMS unless the path is absolute and has no NUL, LIMIT_EXCEEDED if it is too long. An
// absent path is accepted.
Decided<void> require_absolute(const char* field, const std::optional<std::string>& path);

// Returns `text` quoted, if necessary, as one word of a POSIX shell's command line.
std::string shell_word(const std::string& text);

// Returns the command that recovers this tick of the loop, and no later one, where it is pasted
// long after it was printed. `reason` is one word of a shell.
std::string recover_command(const std::string& loop, Token token,
                            const std::string& reason = "checked");

// Return the name of the enumerator.
const char* name_of(RunStatus status);
const char* name_of(StationStatus status);
const char* name_of(TickStatus status);
const char* name_of(PlanStatus status);
const char* name_of(StepStatus status);
const char* name_of(Strategy strategy);
const char* name_of(CardStatus status);

// Returns the commands by which a person decides about an attempt of `run` whose job was given to
// another machine: it no longer runs and may be executed again; it succeeded. The run has one.
std::vector<std::string> commands_to_settle(const Run& run);

}  // namespace signalbox
