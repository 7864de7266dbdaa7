// The pause of the whole service, for people.
#pragma once

#include <cstdint>
#include <string>

#include <boost/json/object.hpp>

#include "tools/cli/terminal.h"

namespace signalbox {

// Returns "paused since 14:05+02 (4s ago) by uid:1000: an upgrade" for `paused` of an answer; empty
// if that is empty.
std::string paused_line(const boost::json::object& paused, std::int64_t now_ns);

// Returns what a worker that got no claim is to know of `result` of station.claim: that the service
// is paused, and what ends that. Empty if it isn't.
std::string paused_claim_text(const boost::json::object& result, const Terminal& terminal,
                              std::int64_t now_ns);

}  // namespace signalbox
