// A run's capsule: one file with the run's records, the proof of each that it is in the log, the
// signed checkpoint they lead to, and, if wanted, its artifacts. tools/AUDIT.md has its lines.
//
// It proves that what is in it happened so; not that nothing else happened to the run, though the
// one who signed says so. Payloads of no other records are in it.
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
  std::filesystem::path file;  // replaced as a whole
  bool with_artifacts = false;
  std::vector<NoteSigner> signers;
};

struct CapsuleWritten {
  std::uint64_t records = 0;
  std::uint64_t artifacts = 0;
  std::vector<std::string> missing_artifacts;  // digests of those that are no longer there
};

// Reads only of the data directory. RUN_NOT_FOUND.
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

// All of it is checked; without trusted keys all but the signatures. Each artifact is given to
// `take`, which may be empty. TAMPERED, or a usage error for what is no capsule.
Called<Capsule> read_capsule(const std::filesystem::path& file,
                             const std::vector<NoteVerifier>& trusted,
                             const std::function<Called<void>(const CapsuleArtifact&)>& take);

// The signed note at the end of a capsule. `lines` is the SHA-256 of all lines before it.
std::string capsule_note_text(const TreeHead& head, const RunId& run_id, std::uint64_t records,
                              const Digest& lines);

}  // namespace signalbox
