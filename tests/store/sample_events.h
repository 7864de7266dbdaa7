// Sample events of every type, filled in from the Describe listings, so that a new event is covered
// without being named here.
#pragma once

#include <vector>

#include "domain/event.h"
#include "store/event_log.h"

namespace signalbox::test {

// Returns one event of each type. Every field has a value that differs from its default and, as far
// as its type allows, from its neighbours'. The result is the same at every call.
std::vector<Event> sample_events();

// Returns a record with every optional field set.
Record sample_record(Position position, Event event);

// Returns `count` records from `first` on, with the event types in turn, except PayloadRedacted.
Commit sample_commit(Position first, std::size_t count);

}  // namespace signalbox::test
