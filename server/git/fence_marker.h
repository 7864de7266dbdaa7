// The fence marker: the file signalbox-fence.json in the worktree's own git directory, which names
// the run that the worktree belongs to. It can't be committed there. `signalbox fence check` reads
// it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <boost/describe/class.hpp>

#include "domain/ids.h"
#include "store/store_error.h"

namespace signalbox {

// The content of the marker file, stored as JSON.
struct FenceMarker {
  std::string schema = "fence.v1";
  std::string run_id;
  Token token = 0;     // fencing token of the run's start
  std::string socket;  // path of the server's socket
};
BOOST_DESCRIBE_STRUCT(FenceMarker, (), (schema, run_id, token, socket))

inline constexpr const char* fence_marker_name = "signalbox-fence.json";

// Writes the marker into the worktree's own git directory, atomically (atomic_file.h).
Stored<void> write_fence_marker(const std::filesystem::path& git_directory,
                                const FenceMarker& marker);
// Reads the marker. Errors: `not_found` if the directory isn't that of a run's worktree, `damaged`
// if the file isn't a marker of this schema.
Stored<FenceMarker> read_fence_marker(const std::filesystem::path& git_directory);
// Returns the run that the marker names, if that is another one than `run_id`; an empty text if it
// is this one, or there is no marker.
std::string other_run_of(const std::filesystem::path& git_directory, const std::string& run_id);

}  // namespace signalbox
