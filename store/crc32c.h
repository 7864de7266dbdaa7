// CRC-32C (Castagnoli), the checksum of everything we lay out by hand.
#pragma once

#include <cstdint>
#include <string_view>

namespace signalbox {

std::uint32_t crc32c(std::string_view bytes);

}  // namespace signalbox
