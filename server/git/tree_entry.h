// One file of a commit, as `git ls-tree -l -z` lists it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace signalbox {

struct TreeEntry {
  bool is_regular = false;  // a file, executable or not; else the other fields are empty
  std::string object;       // the id of its blob
  std::size_t bytes = 0;
};

// Parses "100644 blob 6f2…b1     123\tAGENTS.md\0".
TreeEntry parse_tree_entry(std::string_view line);

}  // namespace signalbox
