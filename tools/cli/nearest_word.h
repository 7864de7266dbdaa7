// Finds what a mistyped word was probably meant to be.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox {

// Returns the one of `known` that takes the fewest changes to become `word`: a character more, less
// or another one, or two exchanged. Nullopt if more than a third of the characters would change.
std::optional<std::string> nearest_word(std::string_view word,
                                        const std::vector<std::string>& known);

}  // namespace signalbox
