// `audit verify`: checks an export against the signatures of the log's key.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "store/redaction.h"
#include "store/sha256.h"
#include "store/signed_note.h"
#include "store/tree_head.h"
#include "tools/audit/audit_findings.h"
#include "tools/audit/export_manifest.h"
#include "tools/cli/call_error.h"

namespace signalbox {

struct VerifyRequest {
  std::filesystem::path directory;
  std::vector<NoteVerifier> trusted;
  std::optional<std::filesystem::path> old_checkpoint;
};

struct Verified {
  ExportManifest manifest;
  std::optional<TreeHead> old_head;       // of the old checkpoint, which the export continues
  std::vector<std::string> adopted_keys;  // verifier keys that the records adopt, in log order
  RedactionLedger redactions;             // of CloudEvents; tiles have no texts
};

// Reads and verifies the whole export; memory use doesn't grow with it. Fails with TAMPERED and the
// findings, or with a usage error if the directory is no export or begins after the old checkpoint.
Called<Verified> verify_export(const VerifyRequest& request);

// Builds the Merkle tree over an export leaf by leaf, and compares its root with the old checkpoint
// at that size and with the manifest at the end.
class TreeCheck {
 public:
  TreeCheck(const ExportManifest& manifest, const std::optional<TreeHead>& old_head,
            std::string old_file, AuditFindings& findings);

  // Adds the next leaf.
  void add(const Digest& leaf);
  // Compares the final root. Called after the last leaf.
  void end();

  [[nodiscard]] std::uint64_t leaves() const { return frontier_.leaves; }

 private:
  void compare_old();

  const ExportManifest& manifest_;
  const std::optional<TreeHead>& old_head_;
  std::string old_file_;
  AuditFindings& findings_;
  MerkleFrontier frontier_;
  Sha256 sha256_;
};

// Verify the records of an export, by format. They add errors to `findings` and every leaf to
// `tree`; that of CloudEvents adds keys and redactions to `verified`.
void verify_cloud_events(const std::filesystem::path& directory, const ExportManifest& manifest,
                         TreeCheck& tree, AuditFindings& findings, Verified& verified);
void verify_tiles(const std::filesystem::path& directory, const ExportManifest& manifest,
                  TreeCheck& tree, AuditFindings& findings);

}  // namespace signalbox
