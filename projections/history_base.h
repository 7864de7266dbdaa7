// The base of a log from which records were dropped: what they led to. Every fold begins with it
// instead of with nothing, and the read models begin with its rows.
//
// It is part of the log, and not disposable as a snapshot is: so the log keeps it (Horizon).
#pragma once

#include <string>

#include "domain/world.h"
#include "projections/kept_rows.h"
#include "projections/table.h"
#include "store/event_log.h"

namespace signalbox {

// `world` is that at the new horizon, `table` a run index as of it.
Stored<std::string> encode_base(const World& world, const Table& table, const KeptNouns& kept);

// What a fold of `log` begins with: an empty world, or the one at its horizon. `damaged`, or
// `unsupported` where another version dropped the records.
Stored<World> first_world(const EventLog& log);

// Whether `table` began with what `log` begins with now; a new one has yet to.
Stored<bool> begins_as(const Table& table, const EventLog& log);

// Makes a new table begin with the base's rows, as of the horizon. Nothing for a log without one.
Stored<void> begin_with_base(Table& table, const EventLog& log);

}  // namespace signalbox
