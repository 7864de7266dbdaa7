#include "projections/position_list.h"

#include "domain/check.h"

namespace signalbox {

void append_position(std::string& list, Position before, Position position) {
  SIGNALBOX_CHECK(position > before);
  Position distance = position - before;
  while (distance >= 0x80) {
    list.push_back(static_cast<char>(static_cast<unsigned char>((distance & 0x7FU) | 0x80U)));
    distance >>= 7U;
  }
  list.push_back(static_cast<char>(distance));
}

std::optional<std::vector<Position>> decode_positions(std::string_view list) {
  std::vector<Position> positions;
  Position position = 0;
  Position distance = 0;
  unsigned shift = 0;
  for (const char character : list) {
    const auto byte = static_cast<unsigned char>(character);
    if (shift > 63) return std::nullopt;
    distance |= static_cast<Position>(byte & 0x7FU) << shift;
    shift += 7;
    if ((byte & 0x80U) != 0) continue;
    if (distance == 0) return std::nullopt;
    position += distance;
    positions.push_back(position);
    distance = 0;
    shift = 0;
  }
  if (shift != 0) return std::nullopt;
  return positions;
}

}  // namespace signalbox
