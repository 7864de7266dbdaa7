// The anchor: a position that the log has reached and the Merkle root there, kept in a file outside
// the database. A log that ends before its anchor has lost acknowledged records; one whose root
// differs at its anchor has been changed.
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

// Atomic and durable; costs two syncs.
Stored<void> write_anchor(const std::filesystem::path& file, const Anchor& anchor);

// Nothing if there is no such file; `damaged` if it isn't, byte for byte, one that we wrote.
Stored<std::optional<Anchor>> read_anchor(const std::filesystem::path& file);

}  // namespace signalbox
