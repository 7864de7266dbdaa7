// Erases texts of a kept record from the base that replaced dropped records. The base is the state
// that those records led to, so it holds copies of the texts of what was open then.
#pragma once

#include <string>

#include "domain/event.h"
#include "store/event_log.h"

namespace signalbox {

// Returns the base of `log` as it would be if the record, which was kept before the horizon, had
// always had `replacement` as its event; the same bytes if the base has nothing of it. Its noun
// (the run, card, lock, tick, token, pause that the record is of) is evolved from its records with
// and without the replacement, and what differs is carried over to the base. Fails with
// `unsupported` if the base has something else there than those records lead to; and as
// initial_world().
Stored<std::string> redacted_base(const EventLog& log, const Record& record,
                                  const Event& replacement);

}  // namespace signalbox
