// The entries of an unordered map in the order of their keys, for what must not depend on hashing.
#pragma once

#include <algorithm>
#include <vector>

namespace signalbox {

// Returns pointers into `map`, which must not change meanwhile.
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
