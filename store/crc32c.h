// CRC-32C (Castagnoli), the checksum of every format that is laid out by hand.
#pragma once

#include <cstdint>
#include <string_view>

namespace signalbox {

// Returns the CRC-32C of `bytes`, with initial and final inversion.
std::uint32_t crc32c(std::string_view bytes);

}  // namespace signalbox
