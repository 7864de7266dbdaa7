// The base of a log from which records were dropped: the state and the rows that those records led
// to. The world evolves from it instead of from an empty one, and the read models start with its
// rows.
//
// Unlike a snapshot it isn't disposable but part of the log, so the log stores it (see Horizon).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "domain/world.h"
#include "projections/kept_rows.h"
#include "projections/table.h"
#include "store/event_log.h"

namespace signalbox {

// Encodes the base for a drop. `world` must be the state at the new horizon, `table` that of a run
// index at the same position. Errors as Table.
Stored<std::string> encode_base(const World& world, const Table& table, const KeptNouns& kept);

// The parts of a base.
struct HistoryBase {
  World world;
  std::map<std::string, std::string> rows;
};

// Encodes the parts, as encode_base() does.
std::string encode_history_base(const HistoryBase& base);

// Reads the base of `log`, which must have one. Errors as initial_world().
Stored<HistoryBase> read_history_base(const EventLog& log);

// Decodes the world in a base that was encoded by this version. Fails with `damaged`.
Stored<World> world_in_base(std::string_view base);

// Returns the world from which `log` evolves: an empty one, or the one at its horizon. Fails with
// `damaged`, or with `unsupported` if a version with other formats dropped the records.
Stored<World> initial_world(const EventLog& log);

// Returns whether `table` was started from the base that `log` has now.
Stored<bool> matches_base(const Table& table, const EventLog& log);

// Writes the base's rows into a new table, which must be empty, and sets its position to the
// horizon. Does nothing for a log without a base. Errors as initial_world() and Table.
Stored<void> load_base_rows(Table& table, const EventLog& log);

}  // namespace signalbox
