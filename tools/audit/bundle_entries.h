// The bundles of entries of a tiled log (c2sp.org/tlog-tiles).
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "store/tile_path.h"

namespace signalbox {

// Before each entry, its length.
inline constexpr std::size_t entry_length_bytes = 2;
inline constexpr std::size_t largest_bundle_bytes = tile_width * (entry_length_bytes + 0xffff);

// Iterates over the entries of a bundle; returns nothing at its end or at a truncated entry.
class BundleEntries {
 public:
  explicit BundleEntries(std::string_view bytes) : left_(bytes) {}

  std::optional<std::string_view> next() {
    if (left_.size() < entry_length_bytes) return std::nullopt;
    const std::size_t size = static_cast<std::size_t>(static_cast<unsigned char>(left_[0])) << 8 |
                             static_cast<unsigned char>(left_[1]);
    if (left_.size() < entry_length_bytes + size) return std::nullopt;
    const std::string_view entry = left_.substr(entry_length_bytes, size);
    left_.remove_prefix(entry_length_bytes + size);
    return entry;
  }
  [[nodiscard]] std::string_view left() const { return left_; }

 private:
  std::string_view left_;
};

}  // namespace signalbox
