// What is in a directory, listed without exceptions.
#pragma once

#include <filesystem>
#include <system_error>
#include <vector>

namespace signalbox {

// Returns the entries of a directory, in no order. If not all of them can be read, `error` says
// why: a loop over a directory_iterator would throw where a disk fails after it was opened.
inline std::vector<std::filesystem::directory_entry> list_directory(
    const std::filesystem::path& directory, std::error_code& error) {
  std::vector<std::filesystem::directory_entry> entries;
  std::filesystem::directory_iterator each(directory, error);
  for (; !error && each != std::filesystem::directory_iterator(); each.increment(error)) {
    entries.push_back(*each);
  }
  return entries;
}

}  // namespace signalbox
