// A run's capsule: one file with the run's records, the inclusion proof of each, the signed
// checkpoint to which the proofs lead and, if requested, its artifacts. tools/AUDIT.md describes
// the lines.
//
// The proofs show that its records are in the log. That the run has no other records isn't proven;
// only the signature states it. It has no payloads of other records.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "domain/event.h"
#include "store/signed_note.h"
#include "store/tree_head.h"
#include "tools/audit/audit_findings.h"
#include "tools/cli/call_error.h"

namespace signalbox {

struct CapsuleRequest {
  std::filesystem::path data;
  RunId run_id{};
  std::filesystem::path file;  // replaced atomically
  bool with_artifacts = false;
  std::vector<NoteSigner> signers;
};

struct CapsuleWritten {
  std::uint64_t records = 0;
  std::uint64_t artifacts = 0;
  std::vector<std::string> missing_artifacts;  // digests of artifacts that no longer exist
  // Digests of those of which something else is stored: they aren't in the capsule either.
  std::vector<std::string> damaged_artifacts;
};

// Writes the capsule; only reads the data directory. Fails with RUN_NOT_FOUND, or with the errors
// of the store.
Called<CapsuleWritten> write_capsule(const CapsuleRequest& request);

struct CapsuleArtifact {
  Digest sha256;
  std::string content;
};

struct Capsule {
  TreeHead head;
  RunId run_id{};
  PipelineDefinition pipeline;
  std::vector<Record> records;
  std::uint64_t artifacts = 0;
  bool signature_checked = false;
};

inline constexpr std::string_view capsule_beginning = "{\"capsule\":1,";

// Reads and verifies a capsule; without trusted keys, all but the signatures. Calls `take` with
// each artifact; it may be empty. Fails with TAMPERED, or with a usage error if the file is no
// capsule.
Called<Capsule> read_capsule(const std::filesystem::path& file,
                             const std::vector<NoteVerifier>& trusted,
                             const std::function<Called<void>(const CapsuleArtifact&)>& take);

// Returns the text of the signed note at the end of a capsule. `lines` is the SHA-256 of all lines
// before it.
std::string capsule_note_text(const TreeHead& head, const RunId& run_id, std::uint64_t records,
                              const Digest& lines);

}  // namespace signalbox
