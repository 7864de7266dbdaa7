// Comparison of texts in which the case of ASCII letters doesn't matter.
#pragma once

#include <string_view>

#include <boost/url/grammar/ci_string.hpp>

namespace signalbox {

// Returns whether the texts are the same, but for the case of ASCII letters. Boost.Beast's
// iequals() does that, too, and reads a byte behind the end of both (Boost 1.81).
inline bool is_same_but_for_case(std::string_view one, std::string_view other) {
  return boost::urls::grammar::ci_is_equal(one, other);
}

}  // namespace signalbox
