// What a worktree of a run knows about its run: the file signalbox-fence.json in the worktree's own
// git directory, where nothing of it can be committed. `signalbox fence check` reads it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <boost/describe/class.hpp>

#include "domain/ids.h"
#include "store/store_error.h"

namespace signalbox {

struct FenceMarker {
  std::string schema = "fence.v1";
  std::string run_id;
  Token token = 0;     // of the run's start
  std::string socket;  // of the server that the run belongs to
};
BOOST_DESCRIBE_STRUCT(FenceMarker, (), (schema, run_id, token, socket))

inline constexpr const char* fence_marker_name = "signalbox-fence.json";

Stored<void> write_fence_marker(const std::filesystem::path& git_directory,
                                const FenceMarker& marker);
// `not_found` in a git directory that isn't of a run's worktree.
Stored<FenceMarker> read_fence_marker(const std::filesystem::path& git_directory);

}  // namespace signalbox
