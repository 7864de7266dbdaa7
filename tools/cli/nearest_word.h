// Finds what a mistyped word was probably meant to be.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

namespace signalbox {

// Returns the one of `known` that takes the fewest changes to become `word`: a character more, less
// or another one, or two exchanged. Nullopt if more than a third of the characters would change.
std::optional<std::string> nearest_word(std::string_view word,
                                        const std::vector<std::string>& known);

// Adds to the message of the server's refusal `error` what was probably meant by `given`, of the
// names that its details have in `list`. Returns that name; nullopt if they have no list, or none
// that is near, or `given` itself.
std::optional<std::string> name_meant(boost::json::object& error, const char* list,
                                      const std::string& given);

}  // namespace signalbox
