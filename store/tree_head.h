// A checkpoint in the sense of c2sp.org/tlog-checkpoint: how large the tree over a log is and what
// its root is, as the text of a signed note. (Not to be confused with rocks_event_log.h's
// Checkpoint, which is our own and isn't signed.)
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "store/signed_note.h"

namespace signalbox {

struct TreeHead {
  std::string origin;  // the log's name
  std::uint64_t size = 0;
  Digest root;

  friend bool operator==(const TreeHead&, const TreeHead&) = default;
};

std::string tree_head_text(const TreeHead& head);

// Nothing unless it is exactly such a text, without lines more.
std::optional<TreeHead> parse_tree_head(std::string_view text);

// `damaged` unless one of the trusted keys signed it, of the name that it gives as its origin.
Stored<TreeHead> open_tree_head(std::string_view note, std::span<const NoteVerifier> trusted);

}  // namespace signalbox
