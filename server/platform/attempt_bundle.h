// The bundle of an attempt: one object with what a runner's job has left, since a store of objects
// asks a price for each. It is a tar (POSIX ustar) that any tool reads, of members named
// `sha256/<digest>`, and an artifact of the attempt itself.
//
// It has no index of its own that somebody could write wrongly: the artifacts that the event names
// before the bundle, with their sizes, are the index. Where each member lies follows from them, and
// what is read there counts only with the digest that the event names.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "domain/station_events.h"
#include "server/platform/artifact_store.h"

namespace signalbox {

// Returns the size of a bundle of these members; nullopt if one is larger than any artifact. Those
// of the same digest and size are in it once.
std::optional<std::uint64_t> bundle_bytes(std::span<const Artifact> members);

// Returns the bundle of these members. `read` returns the content of one, or an error, which is
// returned.
Stored<std::string> make_bundle(
    std::span<const Artifact> members,
    const std::function<Stored<std::string>(const Artifact& member)>& read);

// Returns where the content of `artifact` is, which is one of `artifacts`, those of its attempt.
// Artifacts behind the bundle, and all beside one that isn't of the size that follows from its
// members, are objects of their own.
ArtifactPlace place_of(const std::vector<Artifact>& artifacts, const Artifact& artifact);

// Returns one of the artifacts that have their place in the bundle beside them whose content isn't
// there; nullopt if each is. Reads the bundle once, part by part.
Stored<std::optional<Artifact>> find_wrong_member(const ArtifactStore& store,
                                                  const std::vector<Artifact>& artifacts);

// Adds the fields of a part of a bundle to an artifact's JSON.
void add_place(const ArtifactPlace& place, boost::json::object& artifact);
// Returns where an artifact is whose JSON has these fields.
ArtifactPlace place_of_json(const boost::json::object& artifact);

}  // namespace signalbox
