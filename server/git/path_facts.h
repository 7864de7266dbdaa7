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

// Returns whether nothing is at the path, or an empty directory. False for one that can't be read.
inline bool is_empty_or_missing(const std::filesystem::path& path) {
  std::error_code error;
  if (!is_there(path)) return true;
  return std::filesystem::is_directory(std::filesystem::symlink_status(path, error)) &&
         std::filesystem::is_empty(path, error) && !error;
}

// Returns whether the path leads to something; false for a dangling symbolic link.
inline bool has_target(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

// Returns whether nothing is at the path. False for what can't be looked at, as for want of a
// right.
inline bool is_surely_absent(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::status(path, error).type() == std::filesystem::file_type::not_found;
}

// Returns whether the directory has the files of a bare repository; git isn't asked.
inline bool has_bare_layout(const std::filesystem::path& directory) {
  return !has_target(directory / ".git") && has_target(directory / "HEAD") &&
         has_target(directory / "objects") && has_target(directory / "refs");
}

// Returns the path with its symbolic links resolved, as far as it exists. Returns it unchanged if
// it can't be resolved.
inline std::filesystem::path resolved_path(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::path result = std::filesystem::weakly_canonical(path, error);
  return error ? path : result;
}

}  // namespace signalbox
