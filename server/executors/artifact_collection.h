// Takes what a job left in its artifacts directory into the artifact store.
//
// Every regular file, by its relative path, in the order of the paths; symbolic links are never
// followed, at any level. Bounded in number, depth and bytes; what is left out is named. The same
// directory gives the same list. `result.json` at the top isn't an artifact.
#pragma once

#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "server/platform/artifact_store.h"

namespace signalbox {

inline constexpr std::size_t collected_bytes_max = 256 * 1024 * 1024;
inline constexpr std::size_t collected_entries_max = 10'000;  // looked at, directories included
inline constexpr std::size_t collected_depth_max = 16;

struct CollectedArtifacts {
  std::vector<Artifact> artifacts;
  std::vector<std::string> left_out;  // "name (why)", valid UTF-8
};

// At most `artifacts_max` artifacts, none of a name in `reserved`. A directory that isn't there is
// empty.
Stored<CollectedArtifacts> collect_artifacts(ArtifactStore& store,
                                             const std::filesystem::path& directory,
                                             std::size_t artifacts_max,
                                             const std::set<std::string>& reserved);

// By the ending of the name; application/octet-stream where that says nothing.
std::string media_type_of(const std::string& name);

}  // namespace signalbox
