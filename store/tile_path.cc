#include "store/tile_path.h"

#include <array>
#include <charconv>
#include <cstdio>

namespace signalbox {
namespace {

constexpr std::uint64_t tiles_in_a_directory = 1000;

std::string three_digits(std::uint64_t number) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "%03u", static_cast<unsigned>(number % 1000));
  return text.data();
}

bool read_tile_number(std::string_view text, std::uint64_t& number) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::string tile_path(const TilePath& tile) {
  std::string number = three_digits(tile.number);
  for (std::uint64_t left = tile.number / tiles_in_a_directory; left > 0;
       left /= tiles_in_a_directory) {
    number = "x" + three_digits(left) + "/" + number;
  }
  std::string path =
      "tile/" + (tile.level ? std::to_string(*tile.level) : "entries") + "/" + number;
  if (tile.width < tile_width) path += ".p/" + std::to_string(tile.width);
  return path;
}

std::optional<TilePath> parse_tile_path(std::string_view text) {
  std::string_view left = text;
  constexpr std::string_view prefix = "tile/";
  if (!left.starts_with(prefix)) return std::nullopt;
  left.remove_prefix(prefix.size());
  const std::size_t level_end = left.find('/');
  if (level_end == std::string_view::npos) return std::nullopt;
  TilePath tile;
  if (const auto level = left.substr(0, level_end); level != "entries") {
    std::uint64_t number = 0;
    if (!read_tile_number(level, number) || number > tile_levels_max) return std::nullopt;
    tile.level = static_cast<unsigned>(number);
  }
  left.remove_prefix(level_end + 1);
  if (const std::size_t partial = left.find(".p/"); partial != std::string_view::npos) {
    if (!read_tile_number(left.substr(partial + 3), tile.width) || tile.width == 0 ||
        tile.width >= tile_width) {
      return std::nullopt;
    }
    left = left.substr(0, partial);
  }
  for (; !left.empty(); left.remove_prefix(left.size() > 3 ? 4 : 3)) {
    if (left.front() == 'x') left.remove_prefix(1);
    std::uint64_t part = 0;
    if (left.size() < 3 || !read_tile_number(left.substr(0, 3), part)) return std::nullopt;
    tile.number = tile.number * tiles_in_a_directory + part;
  }
  // The encoding is unique: leading zeroes, a missing x and the like are rejected.
  if (tile_path(tile) != text) return std::nullopt;
  return tile;
}

}  // namespace signalbox
