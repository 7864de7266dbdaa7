// Where the files of a tiled log lie (c2sp.org/tlog-tiles), and what lies in them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox {

inline constexpr unsigned tile_bits = 8;
inline constexpr std::uint64_t tile_width = 1U << tile_bits;
// A tree of 256 to the power of this many leaves is more than any position.
inline constexpr unsigned tile_levels_max = 7;

struct TilePath {
  std::optional<unsigned> level;  // none: entries rather than hashes
  std::uint64_t number = 0;
  std::uint64_t width = tile_width;  // less for a partial one

  friend bool operator==(const TilePath&, const TilePath&) = default;
};

// "tile/0/x001/x234/067", "tile/entries/000.p/12".
std::string tile_path(const TilePath& tile);
// Nothing unless tile_path() gives this text.
std::optional<TilePath> parse_tile_path(std::string_view text);

}  // namespace signalbox
