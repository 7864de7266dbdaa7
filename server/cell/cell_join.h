// The start of a server in its cell: what has to be so before it follows the cell's log.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "server/cell/cell_settings.h"
#include "store/event_log.h"
#include "store/replicated_event_log.h"
#include "store/shared_log.h"

namespace signalbox {

// What joining a cell needs of its surroundings.
struct CellJoin {
  const CellSettings& settings;
  const EventLog& replica;
  const std::filesystem::path& data;  // the directory of the replica
  SharedLog& shared;
  std::function<std::int64_t()> now_ms;  // monotonic
  // Blocks for so long; returns false, at once, if the service is to stop.
  std::function<bool(std::int64_t ms)> wait;
  // For the log of the service; `ok` is false for troubles.
  std::function<void(bool ok, const std::string& text)> note;
  std::string version{};  // of the program
};

// Returns what a server tells of itself that stands by, with this role.
ReplicaReport standby_report(const CellServer& server, const std::string& version,
                             const std::string& role, const EventLog& replica);

// Fails with `damaged`, and what to do, if the log of a replica with this tail can't go on with the
// cell's, which ends at `last`: what follows isn't in the database any more, or never was.
Stored<void> require_continuation(SharedLog& shared, Position tail, Position last);

// Returns the refusal of a server whose name another one has.
StoreError name_taken(const CellServer& server);

// Makes the cell if there is none, beginning with this server's log and with its key of jobs, which
// the jobs and runners of this log know, and reports this server, so that nobody else has its name
// from then on. Returns the cell's key; nullopt if the service is to stop.
// Blocks until the shared log can be reached, and while another server that had this one's name may
// still be there, or while what it has seen of the cell can't be noted, if nothing ever was. Fails
// with `damaged` if the database lost what this server has seen acknowledged,
// or the whole cell; with `denied` if another server has the name, or the database goes on refusing
// this one; with `unsupported` if the cell needs a newer program; and with `io` if what it has seen
// can't be read.
Stored<std::optional<std::string>> join_cell(const CellJoin& join, const std::string& own_key);

// Follows the cell's log up to the latest redaction that one of its servers has reported, so that
// nothing is served of what the cell has redacted. What keeps it from that, the member of the cell
// finds, too.
void follow_redactions(SharedLog& shared, ReplicatedEventLog& log);

}  // namespace signalbox
