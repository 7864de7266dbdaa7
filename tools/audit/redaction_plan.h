// The plan of `audit redact`: which texts of a record are erased and what replaces them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "domain/free_text.h"
#include "store/rocks_event_log.h"
#include "tools/cli/call_error.h"

namespace signalbox {

struct RedactionPlan {
  Record record;                    // before the redaction
  std::vector<std::string> fields;  // to blank; none: all were blanked before
  Event replacement;
  std::vector<FoundText> erased;
  Position redacted_at = 0;  // the event of an earlier redaction of the record, or 0
  // The base without the texts, if the record was kept before the horizon; empty if the base has
  // none of them.
  std::string base;
  std::filesystem::path archive;  // the archive that has the record, too; empty: none is known
  std::string archive_command;    // redacts it there, with the keys for that; empty: see archive
};

// Plans the redaction of `fields`, or without any of all free text, of the record at `position` of
// the log in `data`.
// Fails with POSITION_NOT_FOUND, HISTORY_DROPPED, NOTHING_TO_REDACT, with REDACTION_IMPOSSIBLE if
// the base can't be redacted, or with a usage error for a field that the record doesn't have.
Called<RedactionPlan> plan_redaction(const RocksEventLog& log, const std::filesystem::path& data,
                                     Position position, const std::vector<std::string>& fields);

// Plans the same in the process that serves the log, which isn't one of a cell. Fails with
// REDACTION_NEEDS_STOP for a record that was kept before the horizon, because its base can't be
// renewed while the log is served; the error names `while_stopped`, the command that does it then,
// and the archive with its own.
Called<RedactionPlan> plan_living_redaction(const RocksEventLog& log,
                                            const std::filesystem::path& data, Position position,
                                            const std::vector<std::string>& fields,
                                            const std::string& while_stopped);

// Makes the record of the HistoryDropped that renews the base at the log's horizon.
Stored<Record> renewal_note(const RocksEventLog& log, const std::string& base);

// Makes the record of the PayloadRedacted event; the log fills in its digests.
Record redaction_note(const RedactionPlan& plan, Position position, const std::string& reason);

// Makes an error of the client with this code and exit code 1.
CallError redaction_refused(const char* code, std::string message, boost::json::object details,
                            std::vector<std::string> next_commands = {});

}  // namespace signalbox
