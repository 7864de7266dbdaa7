// The size and the root of the tree over a log as the text of a signed note: a checkpoint in the
// sense of c2sp.org/tlog-checkpoint. (rocks_event_log.h's Checkpoint is a different, internal type
// and isn't signed.)
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
  // Number of leaves.
  std::uint64_t size = 0;
  Digest root;

  friend bool operator==(const TreeHead&, const TreeHead&) = default;
};

// Returns the text of the checkpoint, without signatures.
std::string tree_head_text(const TreeHead& head);

// Parses a checkpoint's text; returns nullopt unless it is canonical and has no extension lines.
std::optional<TreeHead> parse_tree_head(std::string_view text);

// Verifies and parses a signed checkpoint. Fails with `damaged` unless one of the trusted keys
// whose name equals the checkpoint's origin signed it.
Stored<TreeHead> open_tree_head(std::string_view note, std::span<const NoteVerifier> trusted);

}  // namespace signalbox
