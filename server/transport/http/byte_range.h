// The part of a file that a Range header asks for (RFC 9110, section 14).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace signalbox {

struct ByteRange {
  std::uint64_t from = 0;
  std::uint64_t bytes = 0;

  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

enum class RangeKind { whole, part, unsatisfiable };

struct AskedRange {
  RangeKind kind = RangeKind::whole;
  ByteRange range;
};

// One range of bytes; several, or what can't be read, is the whole file, as the standard allows.
AskedRange read_range(std::string_view header, std::uint64_t file_bytes);

}  // namespace signalbox
