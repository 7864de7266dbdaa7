// The check of a run root that a client names, before anything about it is recorded.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "domain/ids.h"
#include "server/rpc/method.h"

namespace signalbox {

// Calls `then` on the engine's thread, at once or later, if the call may name `run_root`; answers
// with the rejection of check_run_root() otherwise. A path that the domain rejects by itself (one
// that isn't absolute, has a NUL or is too long) is left to it. `then` gets a call without params.
void with_run_root(Api& api, const Call& call, const std::optional<std::string>& run_root,
                   std::function<void(Api& api, Call& call)> then);

// Returns the run whose directory in the data directory `run_root` is by the way it is written, or
// which would have it; nullopt for any other place.
std::optional<RunId> run_of_directory(const Api& api, const std::string& run_root);

// Does the same as with_run_root() for a file in an existing run root: everybody may also name the
// root of an open run, but a job only that of its own.
void with_run_root_of_run(Api& api, const Call& call, const std::optional<std::string>& run_root,
                          std::function<void(Api& api, Call& call)> then);

}  // namespace signalbox
