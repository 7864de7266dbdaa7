// One filled-in event of every type there is, made from the Describe listings: a new event is
// covered without being named here.
#pragma once

#include <vector>

#include "domain/event.h"
#include "store/event_log.h"

namespace signalbox::test {

// Every field has a value that differs from its default and, as far as its type allows, from its
// neighbours'. The same at every call.
std::vector<Event> sample_events();

// A record with every optional field set.
Record sample_record(Position position, Event event);

// `count` records from `first` on, with events in turn: all but PayloadRedacted.
Commit sample_commit(Position first, std::size_t count);

}  // namespace signalbox::test
