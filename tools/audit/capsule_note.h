// The signed note at the end of a run's capsule: what the lines before it are.
#pragma once

#include <cstdint>
#include <string>

#include "domain/ids.h"
#include "store/tree_head.h"

namespace signalbox {

// `lines` is the SHA-256 of all lines before the last.
std::string capsule_note_text(const TreeHead& head, const RunId& run_id, std::uint64_t records,
                              const Digest& lines);

}  // namespace signalbox
