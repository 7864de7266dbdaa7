// Stores the files of a job's artifacts directory in the artifact store.
//
// Every regular file is stored under its relative path, in the order of the paths; symbolic links
// are never followed, at any level. Number, depth and bytes are bounded, and what is left out is
// named. The same directory gives the same list. `result.json` at the top isn't an artifact.
#pragma once

#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "server/platform/artifact_store.h"

namespace signalbox {

inline constexpr std::size_t collected_bytes_max = 256 * 1024 * 1024;
// entries visited, directories included
inline constexpr std::size_t collected_entries_max = 10'000;
inline constexpr std::size_t collected_depth_max = 16;

struct CollectedArtifacts {
  std::vector<Artifact> artifacts;
  std::vector<std::string> left_out;  // "name (why)", valid UTF-8
};

// Stores at most `artifacts_max` artifacts, none with a name in `reserved`. A missing directory
// counts as empty. Blocks on the disk. Errors: those of ArtifactStore::put() and of reading.
Stored<CollectedArtifacts> collect_artifacts(ArtifactStore& store,
                                             const std::filesystem::path& directory,
                                             std::size_t artifacts_max,
                                             const std::set<std::string>& reserved);

// Returns the media type for the name's extension; application/octet-stream for an unknown one.
std::string media_type_of(const std::string& name);

}  // namespace signalbox
