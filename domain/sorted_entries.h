// Iteration over an unordered map in key order, for results that must not depend on hashing.
#pragma once

#include <algorithm>
#include <vector>

namespace signalbox {

// Returns pointers to the entries of `map`, sorted by key. They are valid until the map changes.
template <class Map>
auto sorted_entries(const Map& map) {
  std::vector<const typename Map::value_type*> entries;
  entries.reserve(map.size());
  for (const auto& entry : map) entries.push_back(&entry);
  std::sort(entries.begin(), entries.end(),
            [](const auto* left, const auto* right) { return left->first < right->first; });
  return entries;
}

}  // namespace signalbox
