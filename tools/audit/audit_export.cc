#include "tools/audit/audit_export.h"

#include "server/past/dropped_history.h"
#include "tools/audit/export_directory.h"

namespace signalbox {
namespace {

// A tile is written whole, so a tiled export begins with one: with the first that is all there.
Position export_begin(ExportFormat format, Position from, Position horizon) {
  constexpr Position width = 256;
  if (format != ExportFormat::tlog) return from;
  const Position begin = (from - 1) / width * width + 1;
  return begin > horizon ? begin : begin + width;
}

}  // namespace

CallError other_log(const ExportManifest& present) {
  StoreError error;
  error.kind = StoreError::Kind::damaged;
  error.message = "the export that is there isn't one of this log: its records up to " +
                  std::to_string(present.to) + " are others";
  error.position = present.to;
  return from_store_error(error);
}

Called<Exported> export_log(const ExportRequest& request) {
  const auto log = open_audit_log(request.data);
  if (!log) return tl::unexpected(log.error());
  const Position to = request.to.value_or(log->tail());
  if (auto known = require_position(*log, to); !known) return tl::unexpected(known.error());
  if (request.from.value_or(1) < 1 || request.from.value_or(1) > to) {
    return tl::unexpected(
        usage_error("--from must lie between 1 and --to, which is " + std::to_string(to)));
  }
  const Position horizon = log->log->horizon().position;
  const Position from = request.from.value_or(horizon + 1);
  if (from <= horizon) return tl::unexpected(from_rejection(history_dropped(*log->log, from)));
  if (export_begin(request.format, from, horizon) > to) {
    return tl::unexpected(usage_error("no whole tile lies after the log's horizon, which is at " +
                                      std::to_string(horizon)));
  }
  const auto directory = ExportDirectory::take(request.directory, request.format, request.signers);
  if (!directory) return tl::unexpected(directory.error());
  const auto& present = directory->present;
  if (present && (request.from.value_or(present->to + 1) != present->to + 1 || to < present->to)) {
    return tl::unexpected(usage_error(
        request.directory.string() + " has the records " + std::to_string(present->from) + " to " +
        std::to_string(present->to) + ": it goes on from " + std::to_string(present->to + 1)));
  }
  if (present && present->to < horizon) {
    return tl::unexpected(from_rejection(history_dropped(*log->log, present->to + 1)));
  }
  Exported exported;
  ExportManifest& manifest = exported.manifest;
  manifest.format = request.format;
  manifest.origin = request.signers.front().verifier().name;
  manifest.from = present ? present->from : export_begin(request.format, from, horizon);
  manifest.to = to;
  const Position write_from = present ? present->to + 1 : manifest.from;
  exported.records = to + 1 - write_from;
  const auto written =
      request.format == ExportFormat::tlog
          ? export_tiles(*log, directory->path, manifest, write_from, present)
          : export_cloud_events(*log, directory->path, manifest, write_from, present);
  if (!written) return tl::unexpected(written.error());
  if (auto finished = directory->finish(manifest, request.signers); !finished) {
    return tl::unexpected(finished.error());
  }
  return exported;
}

}  // namespace signalbox
