// The feature level of a cell: which events its servers may write.
//
// A server that meets an event, or a version of one, that it doesn't know can't go on. So while a
// cell is upgraded, a server at a time, all of them write what the oldest understands. Each event
// has the level that came with it; the cell has a level of its own, which a person raises once
// every server knows it. A server that alone writes its log is always at the newest.
#pragma once

#include <cstdint>

#include "domain/error.h"
#include "domain/event_parts.h"

namespace signalbox {

using FeatureLevel = std::int32_t;

// That of servers which don't know of levels, and of the cells that they made.
inline constexpr FeatureLevel feature_level_min = 1;
// The one that this program knows: it writes and understands all events up to it.
inline constexpr FeatureLevel feature_level_newest = 3;

// From here on, all servers find artifacts in the bundle of their attempt.
inline constexpr FeatureLevel feature_level_of_bundles = 2;
// From here on, all servers of a cell erase what a PayloadRedacted in its log says.
inline constexpr FeatureLevel feature_level_of_redactions = 3;

// Returns the level that an event of this type and version needs; 0 if it has none, which no event
// of this program is (feature_level.cc).
FeatureLevel feature_level_of(const EventTag& tag);

// Returns CELL_UPGRADE_NEEDED, the refusal of a command whose event needs more than `level`, that
// of the cell.
Rejection feature_level_refusal(const EventTag& tag, FeatureLevel level);

// Returns the same for a redaction.
Rejection redaction_level_refusal(FeatureLevel level);

}  // namespace signalbox
