// `audit verify`: whether what was exported is what the log's key vouches for.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

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
  std::optional<TreeHead> old_head;       // the export goes on from it
  std::vector<std::string> adopted_keys;  // verifier keys that the records adopt, in their order
};

// Reads the whole export; memory stays flat. TAMPERED with what was found; a usage error for what
// isn't an export at all, or where it doesn't reach back to the old checkpoint.
Called<Verified> verify_export(const VerifyRequest& request);

// The tree over an export, leaf by leaf, held against the old checkpoint on its way and the new one
// at its end.
class TreeCheck {
 public:
  TreeCheck(const ExportManifest& manifest, const std::optional<TreeHead>& old_head,
            std::string old_file, AuditFindings& findings);

  void add(const Digest& leaf);
  // After the last one.
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

// By format. What is wrong goes to `findings`, every leaf to `tree`.
void verify_cloud_events(const std::filesystem::path& directory, const ExportManifest& manifest,
                         TreeCheck& tree, AuditFindings& findings,
                         std::vector<std::string>& adopted_keys);
void verify_tiles(const std::filesystem::path& directory, const ExportManifest& manifest,
                  TreeCheck& tree, AuditFindings& findings);

}  // namespace signalbox
