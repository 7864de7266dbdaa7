// Guards that the commands about a run's current station share: that it is the current one, that
// the sender holds it, and that the sender may report on it.
#pragma once

#include <string>
#include <vector>

#include "domain/error.h"
#include "domain/sender.h"
#include "domain/world.h"

namespace signalbox {

// Return the details and the next command of a rejection that is about `station` of `run`.
std::vector<Detail> station_details(const Run& run, const std::string& station);
std::vector<std::string> run_get_command(const Run& run);

// Checks what every command about a station requires: the run is open (RUN_NOT_FOUND,
// RUN_TERMINAL), the station exists (STATION_NOT_FOUND), and it is the current one
// (STATION_ALREADY_SUCCEEDED, STATION_ORDER).
Decided<const Run*> current_station(const World& world, const RunId& id,
                                    const std::string& station);

// Checks current_station(), that `token` is that of the attempt under way (STATION_NOT_CLAIMED,
// STALE_TOKEN), and that `by` may use it (FORBIDDEN).
Decided<const Run*> held_station(const World& world, const RunId& id, const std::string& station,
                                 Token token, const Sender& by);

// STATION_NOT_CLAIMABLE unless the sender may report on the station. A job knows its token, too,
// but only its executor may report its result.
Decided<void> require_may_report(const Run& run, bool from_executor);

}  // namespace signalbox
