// How an erased text leaves the log that the servers of a cell share.
#pragma once

#include <cstdint>

#include "store/event_log.h"
#include "store/shared_log.h"

namespace signalbox {

// Takes out of the shared log what the PayloadRedacted at `redacted_at` says was erased, as the
// writer of this epoch: the payload that was replaced, which links keep until they are trimmed, and
// what came with earlier redactions of the record. `replica` is this server's. Does nothing if that
// is done already. Blocks, also while it reads what lies between earlier redactions. Fails as the
// shared log does, and with `in_use` if that was changed meanwhile: then it may be repeated.
Stored<void> erase_from_chain(SharedLog& shared, const EventLog& replica, std::uint64_t epoch,
                              Position redacted_at);

}  // namespace signalbox
