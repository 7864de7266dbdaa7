// The types of events, for people and programs: what each says, and its fields.
#pragma once

#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace signalbox {

// Returns one sentence about a type of event; empty for an unknown one.
std::string_view sentence_of(std::string_view type);

// Returns the result of `events.types`: all types, by noun, with the fields of their struct.
boost::json::object event_types_view();

// Returns the same for the OpenRPC document: each type with its noun, number, version, sentence and
// the schema of its `data`.
boost::json::array described_events();

}  // namespace signalbox
