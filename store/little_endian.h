// Fixed-width little-endian integers in byte strings, for formats that are laid out by hand.
#pragma once

#include <bit>
#include <concepts>
#include <cstring>
#include <string>
#include <string_view>

namespace signalbox {

static_assert(std::endian::native == std::endian::little,
              "these functions copy integers as they lie in memory");

template <std::integral T>
void append_integer(std::string& out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof bytes);
}

// Reads an integer; at least sizeof(T) bytes must be readable at `bytes`.
template <std::integral T>
T read_integer(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

}  // namespace signalbox
