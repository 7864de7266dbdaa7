// What directories of runs are called, and which names a directory has. Blocks on the disk.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "server/platform/owned_tree.h"

namespace signalbox {

// Returns whether the path is a directory, and no link to one.
inline bool is_plain_directory(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_directory(std::filesystem::symlink_status(path, error));
}

// Returns the name without the end that it has while the directory is being removed.
inline std::string base_name_of(std::string name) {
  const std::string_view end = removing_suffix;
  if (name.ends_with(end)) name.resize(name.size() - end.size());
  return name;
}

// Returns the names of a directory's entries; none for a link or a directory that can't be read.
inline std::vector<std::string> names_in(const std::filesystem::path& directory) {
  std::vector<std::string> names;
  if (!is_plain_directory(directory)) return names;
  std::error_code error;
  for (std::filesystem::directory_iterator each(directory, error), last; !error && each != last;
       each.increment(error)) {
    names.push_back(each->path().filename().string());
  }
  return names;
}

}  // namespace signalbox
