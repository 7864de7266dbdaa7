// `audit retain`: moves records older than a given age from the log into an archive.
//
// The order makes it safe: the archive is written, synced, and verified from the disk by the code
// that verifies any export. Only then are records dropped, in one step (EventLog::drop). A crash
// before that step leaves the log unchanged and an archive that the next attempt continues; a crash
// after it leaves the log without the archived records. The service's own retention does the same
// beside the service, up to the drop, which is then an event of the service itself
// (server/scheduler/retention_loop.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "projections/retention_plan.h"
#include "server/scheduler/retention_outcome.h"
#include "store/signed_note.h"
#include "tools/cli/call_error.h"

namespace signalbox {

struct RetentionRequest {
  std::filesystem::path data;
  std::filesystem::path archives;  // parent of the archives, one directory FROM-TO for each drop
  std::string archive_mark;        // behind the name of each; empty: none
  std::int64_t older_than_ms = 0;
  std::int64_t failed_runs_ms = 0;  // age since its failure that keeps a run that can be retried
  std::int64_t now_ns = 0;          // UTC
  std::string actor;
  std::vector<NoteSigner> signers;
  bool dry_run = false;
  bool archive_lost = false;     // go on although the archive before is gone or changed
  bool only_worthwhile = false;  // don't archive a few records of the service's own housekeeping
};

struct RetentionReport {
  RetentionPlan plan;
  std::filesystem::path archive;
  Position dropped_at = 0;  // position of the HistoryDropped event; 0: nothing was dropped
  std::uintmax_t log_bytes_before = 0;
  std::uintmax_t log_bytes_after = 0;
};

// Moves the records of a directory that no server uses; it is locked as a server would lock it.
// With dry_run it only reads. Fails with IN_USE, TAMPERED, KEY_NOT_ADOPTED unless the log's adopted
// key is among the signers, ARCHIVE_LOST and ARCHIVE_CHANGED if the archive that the new one would
// continue isn't in its place, and the errors of the store and of the export.
Called<RetentionReport> retain(const RetentionRequest& request);

// Returns the function that does the same up to the drop for a service, on the log that it has
// open.
StageRetention stage_in_service();

}  // namespace signalbox
