// What a server knows of its cell, for answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "server/limits.h"
#include "store/shared_log.h"

namespace signalbox {

namespace limits {
// So long whoever asks how the service is waits for an append to be acknowledged.
inline constexpr std::int64_t cell_append_wait_ms_max = 250;
static_assert(cell_append_wait_ms_max < cell_lease_ms_max);
}  // namespace limits

enum class CellRole { standby, active };

struct CellView {
  CellRole role = CellRole::standby;
  std::string cell;
  CellServer server;  // this one
  std::uint64_t epoch = 0;
  FeatureLevel feature_level = feature_level_min;  // of the cell
  CellServer holder;                               // the writer of that epoch, as far as is known
  std::int64_t current_ns = 0;  // UTC: what a standby has was all that the log had then
  std::string taken_because;    // as the writer: one sentence
  std::string trouble;          // why the log can't be read or written; empty: it can
  // Since when (UTC, ns) an append waits for the log, and for how long, if so long that whoever
  // asks how the service is no longer waits for it (limits::cell_append_wait_ms_max); 0: none does.
  // All before is acknowledged up to `acknowledged`.
  std::int64_t append_waiting_since_ns = 0;
  std::int64_t append_waiting_ms = 0;
  Position acknowledged = 0;
  std::string append_waiting_because;  // what the database answered; empty: nothing so far
  std::string durability;              // what is missing for a quorum; empty: nothing
  std::vector<ReplicaReport> servers;  // of a few seconds ago, unless there is servers_trouble
  std::int64_t servers_at_ns = 0;      // UTC: when they were asked for; 0: never
  std::string servers_trouble;         // why they can't be read at present; empty: they can
  // Of the log in the database, as its writer knows it. It begins after this position.
  std::optional<Position> log_begin;
  std::string log_held_by;               // the server for which old links stay; empty: none
  std::vector<Position> redactions_due;  // of the PayloadRedacted that aren't finished
  std::string
      unerased_because;  // why the first of them isn't, and is tried again; empty: it goes on
  std::string undropped_because;  // why what the cell dropped isn't dropped here; empty: it is
  std::string log_kept_because;   // why, or what keeps them from being removed: one sentence
};

// Returns how many versions the servers have that have reported in the last minute
// (limits::cell_upgrade_report_ms_max).
std::size_t count_versions(const std::vector<ReplicaReport>& servers);

// Returns the view as `cell.get` and `server.status` have it.
boost::json::object to_json(const CellView& view);

// Returns the URL of a server's address: https://host:port for tls://host:port.
std::string url_of(const std::string& address);

}  // namespace signalbox
