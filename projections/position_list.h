// An ascending list of positions in few bytes: each as the distance from the one before it, seven
// bits a byte, lowest first.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/ids.h"

namespace signalbox {

// Appends `position`, where `before` is the one appended last (0 for the first).
void append_position(std::string& list, Position before, Position position);

// nullopt if the bytes aren't such a list.
std::optional<std::vector<Position>> decode_positions(std::string_view list);

}  // namespace signalbox
