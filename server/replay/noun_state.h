// Renders the state of one noun of the world (a run, a lock, a card, ...) as JSON with every field,
// and compares two such states. For the debugger, which shows what each event changed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "domain/world.h"

namespace signalbox {

// Returns the state of the noun of `stream`; nullopt if the world doesn't have it. For a run that
// ended and a lock that is free, returns what the world still keeps of them.
std::optional<boost::json::object> noun_state(const World& world, const Stream& stream);

// Parses a stream as to_string() prints it; nullopt if the text is none.
std::optional<Stream> parse_stream(std::string_view text);

struct FieldDifference {
  std::string field;   // a path: "stations[1].status"
  std::string before;  // as JSON, a string without quotes; empty: absent or unset
  std::string after;   // likewise; empty: removed

  friend bool operator==(const FieldDifference&, const FieldDifference&) = default;
};

// Returns the fields that differ, in the order of the fields. In objects that appear, fields that
// are still unset are omitted. Many fields that disappear together are one difference with their
// count.
std::vector<FieldDifference> differences(const std::optional<boost::json::object>& before,
                                         const std::optional<boost::json::object>& after);

}  // namespace signalbox
