// `audit export`: writes records of a log to files that others can verify.
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
  std::optional<Position> from;  // none: the first record, or after the end of the present export
  std::optional<Position> to;    // none: the log's end
  std::vector<NoteSigner> signers;
  // The options that named the log and the keys on the command line, for the suggested commands of
  // an error.
  std::string same_log;
};

struct Exported {
  ExportManifest manifest;
  std::uint64_t records = 0;  // written by this call
};

// Exports into request.directory, or continues the export there. Only reads `data`, which may be
// that of a running server; memory use doesn't grow with the log. Fails with POSITION_NOT_FOUND,
// with HISTORY_DROPPED if records are no longer in the log, with STORAGE_DAMAGED if the directory
// has an export of another log, or with a usage error.
Called<Exported> export_log(const ExportRequest& request);

// Write the records from `write_from` on, by format, and set the manifest's fields about them and
// the tree. `present` is the manifest of the export that is continued.
Called<void> export_cloud_events(const AuditLog& log, const std::filesystem::path& directory,
                                 ExportManifest& manifest, Position write_from,
                                 const std::optional<ExportManifest>& present);
Called<void> export_tiles(const AuditLog& log, const std::filesystem::path& directory,
                          ExportManifest& manifest, Position write_from,
                          const std::optional<ExportManifest>& present);

// Makes the error STORAGE_DAMAGED for a log whose tree differs from that of the export in
// `directory`.
CallError other_log(const std::filesystem::path& directory, const ExportManifest& present);

}  // namespace signalbox
