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

// Adds to the message of the refusal `error` which of the `known` names was probably meant by
// `given`. Returns that name; nullopt if none is near, or they have `given` itself.
std::optional<std::string> name_meant(boost::json::object& error,
                                      const std::vector<std::string>& known,
                                      const std::string& given);

// The same for the names that the details of the server's refusal have in `list`; nullopt if they
// have no list.
std::optional<std::string> name_meant(boost::json::object& error, const char* list,
                                      const std::string& given);

}  // namespace signalbox
