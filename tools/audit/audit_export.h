// `audit export`: records of a log as files that others can check.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "store/signed_note.h"
#include "tools/audit/audit_log.h"
#include "tools/audit/export_manifest.h"
#include "tools/cli/call_error.h"

namespace signalbox {

struct ExportRequest {
  std::filesystem::path data;
  std::filesystem::path directory;
  ExportFormat format = ExportFormat::cloudevents;
  std::optional<Position> from;  // else 1, or where the export that is there ends
  std::optional<Position> to;    // else the log's end
  std::vector<NoteSigner> signers;
  // How the log and the keys were named on the command line, for the next commands of a refusal.
  std::string same_log;
};

struct Exported {
  ExportManifest manifest;
  std::uint64_t records = 0;  // that were written now
};

// Reads only of `data`, which may be that of a running server. Memory stays flat.
Called<Exported> export_log(const ExportRequest& request);

// By format: writes the records from `write_from` on and sets what the manifest has of them and of
// the tree.
Called<void> export_cloud_events(const AuditLog& log, const std::filesystem::path& directory,
                                 ExportManifest& manifest, Position write_from,
                                 const std::optional<ExportManifest>& present);
Called<void> export_tiles(const AuditLog& log, const std::filesystem::path& directory,
                          ExportManifest& manifest, Position write_from,
                          const std::optional<ExportManifest>& present);

// The log from its beginning isn't what the export in `directory` says.
CallError other_log(const std::filesystem::path& directory, const ExportManifest& present);

}  // namespace signalbox
