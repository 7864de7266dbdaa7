// Whether a file that is to be removed from a run root is the one that the log means.
//
// A run root belongs to its user, and others take locks and leave markers there by the file alone.
// After a crash old removals are carried out late: what lies there by then may be somebody else's,
// and without it two would hold one thing.
#pragma once

#include "server/followers/run_root/file_change.h"
#include "server/followers/run_root/found_file.h"
#include "store/event_log.h"

namespace signalbox {

// `removal` is of kind remove, `found` what lies at its place. A `.lock` and a marker are ours if
// they tell of a grant or a tick that the log has; and a marker that a loop halted on is the one
// that the halt tells of. Blocks (reads the log). Any thread.
bool may_remove(const EventLog& log, const FileChange& removal, const FoundFile& found);

}  // namespace signalbox
