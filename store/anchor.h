// The anchor: a position that the log has reached and the Merkle root there, kept in a file outside
// the database. A log that ends before its anchor has lost acknowledged records; a log whose root
// at the anchor's position differs from the anchor's was changed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "domain/ids.h"
#include "store/store_error.h"

namespace signalbox {

struct Anchor {
  Position position = 0;
  Digest root;

  friend bool operator==(const Anchor&, const Anchor&) = default;
};

// Replaces the anchor file atomically and durably, at the cost of two syncs. Fails with `full` or
// `io`.
Stored<void> write_anchor(const std::filesystem::path& file, const Anchor& anchor);

// Reads the anchor; returns nullopt if the file doesn't exist. Fails with `damaged` if it isn't
// byte for byte an anchor as write_anchor() writes it.
Stored<std::optional<Anchor>> read_anchor(const std::filesystem::path& file);

}  // namespace signalbox
