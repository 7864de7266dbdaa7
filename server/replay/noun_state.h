// One thing of the world, by its stream, as JSON: every field of its state; and how two of them
// differ.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "domain/world.h"

namespace signalbox {

// Nothing where the world doesn't have it. Of a run that ended, and of a lock that is free, what is
// remembered.
std::optional<boost::json::object> noun_state(const World& world, const Stream& stream);

// The stream that to_string() calls so.
std::optional<Stream> parse_stream(std::string_view text);

struct FieldDifference {
  std::string field;   // a path: "stations[1].status"
  std::string before;  // as JSON, a string without its quotes; empty: it wasn't there, or unset
  std::string after;   // empty: it is gone

  friend bool operator==(const FieldDifference&, const FieldDifference&) = default;
};

// In the order of the fields. Where a thing appears, fields that nobody set yet are left out; where
// many are gone at once, they are one difference that counts them.
std::vector<FieldDifference> differences(const std::optional<boost::json::object>& before,
                                         const std::optional<boost::json::object>& after);

}  // namespace signalbox
