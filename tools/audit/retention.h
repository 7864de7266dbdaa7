// `audit retain`: what is older than a policy goes from the log into an archive.
//
// The order is what makes it safe: the archive is written, synced, and verified from the disk by
// what verifies any export; only then is anything dropped, in one step (EventLog::drop). A crash
// before it leaves the log as it was and an archive that is taken up again; one after it leaves the
// log without what the archive has. The service's own retention is the same, between two of its
// lives.
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
  std::filesystem::path archives;  // one directory FROM-TO below it for each drop
  std::int64_t older_than_ms = 0;
  std::int64_t now_ns = 0;  // UTC
  std::string actor;
  std::vector<NoteSigner> signers;
  bool dry_run = false;
};

struct RetentionReport {
  RetentionPlan plan;
  std::filesystem::path archive;
  Position dropped_at = 0;  // of the HistoryDropped; 0: nothing was dropped
  std::string strange_key;  // a sentence where the log doesn't name the key; else empty
  std::uintmax_t log_bytes_before = 0;
  std::uintmax_t log_bytes_after = 0;
};

// Of a directory that no server uses: it is taken as a server would take it.
Called<RetentionReport> retain(const RetentionRequest& request);

// The same for a service that is away for it, on the log that it holds.
RetainRecords retain_in_service();

}  // namespace signalbox
