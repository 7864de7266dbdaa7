// Functions about paths that behave well with symbolic links and with paths that don't exist,
// unlike the obvious std::filesystem calls.
#pragma once

#include <filesystem>
#include <system_error>

namespace signalbox {

// Returns whether the path exists; true also for a dangling symbolic link.
inline bool is_there(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(std::filesystem::symlink_status(path, error));
}

// Returns whether the path leads to something; false for a dangling symbolic link.
inline bool has_target(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

// Returns the path with its symbolic links resolved, as far as it exists. Returns it unchanged if
// it can't be resolved.
inline std::filesystem::path resolved_path(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::path result = std::filesystem::weakly_canonical(path, error);
  return error ? path : result;
}

}  // namespace signalbox
