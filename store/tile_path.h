// Paths of the files of a tiled log (c2sp.org/tlog-tiles).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox {

inline constexpr unsigned tile_bits = 8;
inline constexpr std::uint64_t tile_width = 1U << tile_bits;
// A tree with 256 to the power of this many leaves is larger than any position.
inline constexpr unsigned tile_levels_max = 7;

struct TilePath {
  std::optional<unsigned> level;  // none: a bundle of entries instead of hashes
  std::uint64_t number = 0;
  std::uint64_t width = tile_width;  // less for a partial tile

  friend bool operator==(const TilePath&, const TilePath&) = default;
};

// Returns "tile/0/x001/x234/067", "tile/entries/000.p/12".
std::string tile_path(const TilePath& tile);
// Parses a path; returns nothing for any text that tile_path() wouldn't return.
std::optional<TilePath> parse_tile_path(std::string_view text);

}  // namespace signalbox
