// The bounds of params, for the description of the methods (openrpc.h).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace signalbox {

// The least and the largest value of a number, or the size of a text in bytes, or of a list or an
// object in entries. What lies outside is INVALID_PARAMS or LIMIT_EXCEEDED. A param that has none
// is bounded by the size of a request.
struct BoundedParam {
  std::string_view method;
  std::string_view param;
  std::int64_t min;
  std::int64_t max;
};

std::span<const BoundedParam> bounded_params();

// Returns the bounds of one param; nullptr if it has none.
const BoundedParam* find_bounds(std::string_view method, std::string_view param);

}  // namespace signalbox
