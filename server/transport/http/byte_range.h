// Parses the Range header field (RFC 9110, section 14).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace signalbox {

struct ByteRange {
  std::uint64_t from = 0;   // offset
  std::uint64_t bytes = 0;  // length

  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

enum class RangeKind { whole, part, unsatisfiable };

struct RequestedRange {
  RangeKind kind = RangeKind::whole;
  ByteRange range;
};

// Returns the range that `header` requests of a file of `file_bytes`. Several ranges, or an invalid
// header, mean the whole file, as the standard allows.
RequestedRange read_range(std::string_view header, std::uint64_t file_bytes);

}  // namespace signalbox
