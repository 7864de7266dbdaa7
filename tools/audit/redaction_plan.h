// What `audit redact` is going to do with a record: which of its texts go, and what stands in their
// place; and the proof, by folding, that the log still means something then.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "domain/free_text.h"
#include "store/rocks_event_log.h"
#include "tools/cli/call_error.h"

namespace signalbox {

struct RedactionPlan {
  Record record;                    // as it is now
  std::vector<std::string> fields;  // that are blanked; none: they were before
  Event replacement;
  std::vector<FoundText> erased;
  Position told_at = 0;  // where the log tells of an earlier redaction of the record, or 0
};

// Without `fields` all free text of the record at `position`. POSITION_NOT_FOUND,
// NOTHING_TO_REDACT, or a usage error for a field that the record doesn't have.
Called<RedactionPlan> plan_redaction(const RocksEventLog& log, Position position,
                                     const std::vector<std::string>& fields);

// The event that tells of it; its digests are the log's business.
Record redaction_note(const RedactionPlan& plan, Position position, const std::string& reason);

// Folds the log in `data`, read only, as it will be. Gives its tail. REDACTION_IMPOSSIBLE with what
// stands against it: an event that doesn't apply any more, an invariant that doesn't hold.
Called<Position> prove_redaction(const std::filesystem::path& data, const RedactionPlan& plan,
                                 const std::string& reason);

// A refusal of this side.
CallError redaction_refused(const char* code, std::string message, boost::json::object details,
                            std::vector<std::string> next_commands = {});

}  // namespace signalbox
