#include "tools/audit/audit_export.h"

#include "domain/try.h"
#include "server/engine/dropped_history.h"
#include "tools/audit/export_directory.h"
#include "tools/cli/call_error.h"

namespace signalbox {
namespace {

// Returns the first position of the export. Tiles are written whole, so that a tiled export begins
// with the first tile that is completely in the log.
Position export_begin(ExportFormat format, Position from, Position horizon) {
  constexpr Position width = 256;
  if (format != ExportFormat::tlog) return from;
  const Position begin = (from - 1) / width * width + 1;
  return begin > horizon ? begin : begin + width;
}

CallError no_whole_tile(const ExportRequest& request, Position begin, Position horizon,
                        Position to) {
  return usage_error(
      "no whole tile lies between the log's horizon, which is at " + std::to_string(horizon) +
          ", and " + std::to_string(to) + ": the first begins at " + std::to_string(begin) +
          "; export tiles once the log has got there, CloudEvents now",
      {"signalbox audit export --format cloudevents --from " + std::to_string(horizon + 1) +
       " -o " + for_the_shell(request.directory.string() + "-cloudevents") + " " +
       request.same_log});
}

// Makes the error for records between the export and the horizon: they are only in archives.
CallError cut_off(const ExportRequest& request, const EventLog& log,
                  const ExportManifest& present) {
  const Position horizon = log.horizon().position;
  Rejection rejection = history_dropped(log, present.to + 1);
  rejection.message = request.directory.string() + " ends at " + std::to_string(present.to) +
                      " and can't go on: up to " + std::to_string(horizon) + ", " +
                      rejection.message +
                      "; that directory stays what it is, the archives have what follows, and "
                      "another export goes on after them";
  rejection.next_commands.insert(
      rejection.next_commands.begin(),
      "signalbox audit export --format " + std::string(name_of(request.format)) + " -o " +
          for_the_shell(request.directory.string() + "-" + std::to_string(horizon + 1)) + " " +
          request.same_log);
  return from_rejection(rejection);
}

}  // namespace

CallError other_log(const std::filesystem::path& directory, const ExportManifest& present) {
  StoreError error;
  error.kind = StoreError::Kind::damaged;
  error.message = directory.string() + " isn't an export of this log but of another one of " +
                  present.origin + ": its records up to " + std::to_string(present.to) +
                  " are others, so either this log was replaced or that is another machine's; "
                  "name another directory";
  error.file = directory.string();
  error.position = present.to;
  return from_store_error(error);
}

Called<Exported> export_log(const ExportRequest& request) {
  const auto log = TRY(open_audit_log(request.data));
  const Position to = request.to.value_or(log.tail());
  TRY(require_position(log, to));
  if (request.from.value_or(1) < 1 || request.from.value_or(1) > to) {
    return tl::unexpected(
        usage_error("--from must lie between 1 and --to, which is " + std::to_string(to)));
  }
  const Position horizon = log.log->horizon().position;
  const Position from = request.from.value_or(horizon + 1);
  if (from <= horizon) return tl::unexpected(from_rejection(history_dropped(*log.log, from)));
  std::error_code unknown;
  const bool goes_on = std::filesystem::exists(request.directory / manifest_name, unknown);
  if (const Position begin = export_begin(request.format, from, horizon); begin > to && !goes_on) {
    return tl::unexpected(no_whole_tile(request, begin, horizon, to));
  }
  const auto directory =
      TRY(ExportDirectory::take(request.directory, request.format, request.signers));
  const auto& present = directory.present;
  if (present && (request.from.value_or(present->to + 1) != present->to + 1 || to < present->to)) {
    return tl::unexpected(usage_error(
        request.directory.string() + " has the records " + std::to_string(present->from) + " to " +
        std::to_string(present->to) + ": it goes on from " + std::to_string(present->to + 1)));
  }
  if (present && present->to < horizon) {
    return tl::unexpected(cut_off(request, *log.log, *present));
  }
  Exported exported;
  ExportManifest& manifest = exported.manifest;
  manifest.format = request.format;
  manifest.origin = request.signers.front().verifier().name;
  manifest.from = present ? present->from : export_begin(request.format, from, horizon);
  manifest.to = to;
  const Position write_from = present ? present->to + 1 : manifest.from;
  exported.records = to + 1 - write_from;
  TRY(request.format == ExportFormat::tlog
          ? export_tiles(log, directory.path, manifest, write_from, present)
          : export_cloud_events(log, directory.path, manifest, write_from, present));
  TRY(directory.finish(manifest, request.signers));
  return exported;
}

}  // namespace signalbox
