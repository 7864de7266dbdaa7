#include "server/git/fence_marker.h"

#include "server/platform/stored_json.h"

namespace signalbox {

Stored<void> write_fence_marker(const std::filesystem::path& git_directory,
                                const FenceMarker& marker) {
  return write_stored_json(git_directory / fence_marker_name, marker);
}

Stored<FenceMarker> read_fence_marker(const std::filesystem::path& git_directory) {
  return read_stored_json<FenceMarker>(git_directory / fence_marker_name);
}

std::string other_run_of(const std::filesystem::path& git_directory, const std::string& run_id) {
  const auto marker = read_fence_marker(git_directory);
  return marker && marker->run_id != run_id ? marker->run_id : std::string();
}

}  // namespace signalbox
