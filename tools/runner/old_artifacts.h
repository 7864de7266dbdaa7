// What jobs have left in a runner's store: a copy of what the service has, once a result was sent.
#pragma once

#include <chrono>
#include <set>

#include "domain/ids.h"
#include "server/platform/artifact_store.h"

namespace signalbox {

// A day: longer than any result waits between its collection and its first attempt to be sent.
inline constexpr std::int64_t artifacts_kept_ns =
    std::chrono::nanoseconds(std::chrono::hours(24)).count();

// Removes the blobs that were stored before `before_ns` (UTC), except for those in `kept`. Returns
// how many bytes they had. Errors: those of the store. Blocks on the disk.
Stored<std::uint64_t> remove_old_artifacts(ArtifactStore& store, const std::set<Digest>& kept,
                                           std::int64_t before_ns);

}  // namespace signalbox
