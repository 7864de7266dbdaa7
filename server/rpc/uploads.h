// Artifacts that runners upload in pieces, before the word that names them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "domain/ids.h"
#include "server/platform/artifact_store.h"
#include "store/store_error.h"

namespace signalbox {

struct UploadPiece {
  std::string runner;
  Digest sha256{};          // of the whole content
  std::uint64_t bytes = 0;  // of the whole content, at most limits::artifact_bytes_max
  std::uint64_t offset = 0;
  std::string content;  // of this piece
};

struct UploadProgress {
  bool complete = false;          // the content is stored
  bool is_other_content = false;  // all of it came, and it has another digest
  std::uint64_t next_offset = 0;  // where the next piece begins
};

// Adds the piece to the content that the runner uploads, in one file of `directory` for each
// runner, and stores it when it is complete. A piece at another offset than the next one is left
// out. Content that is stored already is complete at once, which is found out with the first piece.
// An empty one asks for that alone. Blocks.
Stored<UploadProgress> add_upload_piece(const std::filesystem::path& directory,
                                        ArtifactStore& artifacts, const UploadPiece& piece);

}  // namespace signalbox
