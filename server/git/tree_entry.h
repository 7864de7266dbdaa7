// What `git ls-tree -l -z` lists of a commit.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox {

struct TreeEntry {
  bool is_tree = false;     // a directory: it has a path and an object
  bool is_regular = false;  // a file, executable or not; neither of the two: only a path
  std::string path;
  std::string object;  // the id of its blob or tree
  std::size_t bytes = 0;
};

// Parses "100644 blob 6f2…b1     123\tAGENTS.md\0".
TreeEntry parse_tree_entry(std::string_view line);

// Parses many of them.
std::vector<TreeEntry> parse_tree_entries(std::string_view output);

}  // namespace signalbox
