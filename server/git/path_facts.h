// Two questions about a path whose answers must not depend on what a link points to, or on whether
// the last part is there.
#pragma once

#include <filesystem>
#include <system_error>

namespace signalbox {

// Whether anything has this name, a dangling link too.
inline bool is_there(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(std::filesystem::symlink_status(path, error));
}

// Without links, as far as it exists; itself where that can't be told.
inline std::filesystem::path resolved_path(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::path result = std::filesystem::weakly_canonical(path, error);
  return error ? path : result;
}

}  // namespace signalbox
