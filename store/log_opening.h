// What must be true of a database before anything is served from it.
//
// Internal: only sources include it.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include "store/anchor.h"
#include "store/entry.h"
#include "store/horizon.h"
#include "store/rocks_database.h"
#include "store/rocks_event_log.h"

namespace signalbox {

// Calls `visit(entry, first)` with each entry that has records from … to, in order, as long as the
// EntryEnd that it gives isn't stopped; checks that no position is missing. Gives the position
// after the last record visited.
using VisitEntry = std::function<Stored<EntryEnd>(std::string_view entry, Position first)>;
Stored<Position> walk_entries(const RocksDatabase& database, Position from, Position to,
                              const VisitEntry& visit);

// Notes what in the range is redacted, and what tells of redactions.
Stored<void> note_redactions(const RocksDatabase& database, const PositionRange& range,
                             RedactionLedger& redactions);

// Holds the redacted records of a walk from `from` up to before `next` against the events that tell
// of them, which may lie after it; and the other way round. Reads those that weren't dropped.
Stored<void> check_redactions(const RocksDatabase& database, RedactionLedger redactions,
                              Position from, Position next, const Horizon& horizon);

// Where in a data directory things lie.
std::filesystem::path log_directory(const std::filesystem::path& data);
std::filesystem::path anchor_file(const std::filesystem::path& data);
std::filesystem::path lock_file(const std::filesystem::path& data);

// Whether `data` has no log yet and one may be created there; `damaged` if there are traces of a
// log whose CURRENT file, without which RocksDB would start an empty one, is gone.
Stored<bool> may_create(const std::filesystem::path& data, const std::optional<Anchor>& anchor);

// Recomputes the tree over what lies after the checkpoint and compares it with the head and with
// the anchor. Gives the head.
Stored<MerkleFrontier> verify_log(const RocksDatabase& database,
                                  const std::optional<Checkpoint>& checkpoint,
                                  const std::optional<Anchor>& anchor, const Horizon& horizon,
                                  const std::filesystem::path& data);

}  // namespace signalbox
