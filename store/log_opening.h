// The checks that a database must pass before anything is served from it (FORMAT.md, "Checks when a
// log is opened").
//
// Internal: only sources include it.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "store/anchor.h"
#include "store/entry.h"
#include "store/horizon.h"
#include "store/rocks_database.h"
#include "store/rocks_event_log.h"
#include "store/wal_file.h"

namespace signalbox {

// Calls `visit(entry, first)` with each entry that has records from … to, in order, until it
// returns a stopped EntryEnd or an error. Fails with `damaged` if a position is missing. Returns
// the position after the last record visited.
using VisitEntry = std::function<Stored<EntryEnd>(std::string_view entry, Position first)>;
Stored<Position> walk_entries(const RocksDatabase& database, Position from, Position to,
                              const VisitEntry& visit);
// Does the same over `entries`, which sees the database as of its creation.
Stored<Position> walk_entries(const RocksDatabase& database, rocksdb::Iterator& entries,
                              Position from, Position to, const VisitEntry& visit);

// Notes the redacted records and the PayloadRedacted events of the range in `redactions`.
Stored<void> note_redactions(const RocksDatabase& database, const PositionRange& range,
                             RedactionLedger& redactions);

// Checks the redacted records of a walk over `from` … `next` - 1 against the events about them,
// which may lie after it, and the events against the records. Reads further records as needed,
// except those that were dropped, and leaves out those that are `awaited` (PendingRedactions).
// Fails with `damaged` on a mismatch.
Stored<void> check_redactions(const RocksDatabase& database, RedactionLedger redactions,
                              Position from, Position next, const Horizon& horizon,
                              const std::vector<Position>& awaited);

// Return the paths of a data directory's parts.
std::filesystem::path log_directory(const std::filesystem::path& data);
std::filesystem::path anchor_file(const std::filesystem::path& data);
std::filesystem::path lock_file(const std::filesystem::path& data);

// Returns the paths of the files in the log's directory, sorted; none if it can't be read.
std::vector<std::filesystem::path> log_files(const std::filesystem::path& data);

// Returns true if `data` has no log yet, so that one may be created there. Fails with `damaged` if
// there are traces of a log whose CURRENT file is gone: without it RocksDB would start an empty
// log.
Stored<bool> may_create(const std::filesystem::path& data, const std::optional<Anchor>& anchor);

// Checks before anything is written that the log reaches its anchor. If the last batch of its
// write-ahead log doesn't show it, the database is opened for reading. Fails with `damaged` if
// records are missing, or the anchor of a log that has some.
Stored<void> check_tail(const std::filesystem::path& data, const std::optional<Anchor>& anchor,
                        const TornTail& wal, rocksdb::Env* env);

// Recomputes the tree over the records after the checkpoint and compares it with the head and with
// the anchor. Returns the head; fails with `damaged` on any mismatch.
Stored<MerkleFrontier> verify_log(const RocksDatabase& database,
                                  const std::optional<Checkpoint>& checkpoint,
                                  const std::optional<Anchor>& anchor, const Horizon& horizon,
                                  const std::vector<Position>& awaited,
                                  const std::filesystem::path& data);

}  // namespace signalbox
