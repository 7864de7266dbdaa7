// What to do about what a database answers, for the people who run it.
#pragma once

#include <string>
#include <string_view>

namespace signalbox {

// Returns what to do about an error of a statement, as the end of a sentence: it begins with a
// colon, or is empty.
std::string statement_advice(std::string_view sqlstate);

// The same about why no host of a database could be used, for its messages with their SQLSTATE.
std::string connection_advice(std::string_view problems);

}  // namespace signalbox
