// Renders the state of one noun of the world (a run, a lock, a card, ...) as JSON with every field,
// and compares two such states. For the debugger, which shows what each event changed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <boost/json/array.hpp>
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

// Returns the differences of two states of a run, the latter of a run that has ended. Fields that
// only an open run has are omitted: it is gone with them. `end`, the event that ended it, adds why
// it failed or was canceled, which the world doesn't keep; it may be nullptr.
std::vector<FieldDifference> differences_at_end(const std::optional<boost::json::object>& before,
                                                const boost::json::object& after, const Event* end);

// Returns the differences of two states of a stream: differences_at_end() of a run that has ended,
// with `end`, else differences().
std::vector<FieldDifference> differences_of(const Stream& stream,
                                            const std::optional<boost::json::object>& before,
                                            const std::optional<boost::json::object>& after,
                                            const Event* end);

// Returns [{field, from?, to?}].
boost::json::array describe_differences(const std::vector<FieldDifference>& fields);

// Returns "appears", "changes" or "is gone": what became of a noun between two states that differ.
const char* change_between(const std::optional<boost::json::object>& before,
                           const std::optional<boost::json::object>& after);

// Returns whether this is the state of a run that has ended.
bool is_ended_run(const Stream& stream, const std::optional<boost::json::object>& state);

}  // namespace signalbox
