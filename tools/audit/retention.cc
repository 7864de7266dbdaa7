#include "tools/audit/retention.h"

#include <fcntl.h>

#include <optional>

#include "domain/nanoseconds.h"
#include "domain/try.h"
#include "projections/history_base.h"
#include "projections/rocks_table.h"
#include "server/engine/engine.h"
#include "server/engine/recovery.h"
#include "server/followers/projector.h"
#include "store/file_descriptor.h"
#include "store/sha256.h"
#include "tools/audit/audit_export.h"
#include "tools/audit/audit_keys.h"
#include "tools/audit/audit_verify.h"
#include "tools/audit/export_directory.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

std::uintmax_t bytes_below(const fs::path& directory) {
  std::uintmax_t bytes = 0;
  std::error_code ignored;
  for (const auto& file : fs::recursive_directory_iterator(directory, ignored)) {
    const std::uintmax_t size = file.is_regular_file(ignored) ? file.file_size(ignored) : 0;
    bytes += size == static_cast<std::uintmax_t>(-1) ? 0 : size;
  }
  return bytes;
}

// Drops the files from the page cache, so that the verification reads the disk and not memory.
void forget_cached(const fs::path& directory) {
  std::error_code ignored;
  for (const auto& file : fs::recursive_directory_iterator(directory, ignored)) {
    if (!file.is_regular_file(ignored)) continue;
    const FileDescriptor opened(::open(file.path().c_str(), O_RDONLY | O_CLOEXEC));
    if (opened) static_cast<void>(::posix_fadvise(opened.get(), 0, 0, POSIX_FADV_DONTNEED));
  }
}

struct OpenedLog {
  std::unique_ptr<RocksEventLog> log;
  std::optional<AuditKey> adopted;  // the key that the log names
};

Called<OpenedLog> open_log_exclusively(const fs::path& data) {
  std::error_code ignored;
  if (!fs::exists(data / "log" / "CURRENT", ignored)) {  // opening would create a log
    return tl::unexpected(usage_error("there is no log in " + data.string()));
  }
  auto recovered = recover(data, {}, "signalbox audit retain");
  if (recovered) {
    return OpenedLog{std::move(recovered->log), std::move(recovered->world.access.audit_key)};
  }
  StoreError error = std::move(recovered.error());
  CallError called = from_store_error(error);
  if (error.kind == StoreError::Kind::in_use) {
    called.error["message"] =
        error.message + ": records are dropped only while nobody else has the log";
  }
  return tl::unexpected(std::move(called));
}

// Opens the log read-only, which is possible beside a running server.
Called<OpenedLog> read_log(const fs::path& data) {
  auto log = RocksEventLog::open(data, {.read_only = true});
  if (!log) return tl::unexpected(from_store_error(log.error()));
  auto world = fold_log(**log, data);
  if (!world) return tl::unexpected(from_store_error(world.error()));
  return OpenedLog{std::move(*log), std::move(world->access.audit_key)};
}

// Returns a sentence if the log hasn't adopted any of the signers' keys, else "". Any key may sign,
// as for `audit export`, but verifiers that follow the adopted keys through the log won't find it.
std::string unadopted_key_text(const std::vector<NoteSigner>& signers,
                               const std::optional<AuditKey>& adopted) {
  for (const NoteVerifier& verifier : verifiers_of(signers)) {
    if (adopted && verifier.text() == adopted->verifier_key) return {};
  }
  const std::string used = "the log doesn't name the key " + signers.front().verifier().label();
  if (!adopted) return used + "; it has adopted none";
  return used + " but " + adopted->verifier_key + ", since position " +
         std::to_string(adopted->adopted_at);
}

Called<void> require_outside(const fs::path& archives, const fs::path& data) {
  if (!is_in_directory(archives, data)) return {};
  return tl::unexpected(usage_error("--archive " + archives.string() +
                                    " is in the data directory, with which it would be lost: name "
                                    "one elsewhere, best on another disk"));
}

// Plans the retention with its read models in `scratch` on disk, since they may exceed memory.
Stored<RetentionPlan> plan_on_disk(const EventLog& log, std::int64_t until_ns,
                                   const fs::path& scratch) {
  std::error_code ignored;
  fs::remove_all(scratch, ignored);
  auto opened = TRY(RocksTable::open_or_recreate(scratch, RunIndex::format));
  auto plan = plan_retention(log, until_ns, *opened.table);
  opened.table.reset();
  fs::remove_all(scratch, ignored);
  return plan;
}

// Writes and verifies the archive. A complete archive of this log, left by an attempt that crashed
// before the drop, is used again; an incomplete one is restarted.
Called<ExportManifest> archive_records(const RetentionRequest& request, const RetentionPlan& plan,
                                       const fs::path& archive) {
  const auto trusted = verifiers_of(request.signers);
  const auto present = read_export_notes(archive, trusted);
  const bool is_whole =
      present && present->manifest.from == plan.from && present->manifest.to == plan.horizon;
  ExportRequest wanted;
  wanted.data = request.data;
  wanted.directory = archive;
  if (!is_whole) wanted.from = plan.from;
  wanted.to = plan.horizon;
  wanted.signers = request.signers;
  TRY(export_log(wanted));
  forget_cached(archive);
  const auto verified = TRY(verify_export({archive, trusted, std::nullopt}));
  if (verified.manifest.from != plan.from || verified.manifest.to != plan.horizon) {
    return tl::unexpected(io_error(archive.string() + " hasn't the records " +
                                   std::to_string(plan.from) + " to " +
                                   std::to_string(plan.horizon)));
  }
  return verified.manifest;
}

Stored<void> drop_records(RocksEventLog& log, const RetentionRequest& request,
                          const RetentionPlan& plan, const fs::path& archive,
                          const ExportManifest& manifest) {
  HistoryDropped event;
  event.horizon = plan.horizon;
  event.from = plan.from;
  event.records = plan.records_dropped;
  event.records_kept = plan.records_kept;
  event.older_than_ms = request.older_than_ms;
  event.archive = archive.string();
  event.origin = manifest.origin;
  event.root = manifest.root;
  event.base = sha256(plan.drop.base);
  Record record;
  record.position = log.tail() + 1;
  record.stream = Stream::server();
  record.recorded_at_ns = request.now_ns;
  record.actor = request.actor;
  record.event = Event(ServerEvent(event));
  return log.drop(log.tail(), {record}, plan.drop);
}

// Updates the read models, which would delay the next start otherwise. Errors are ignored, since
// the next start repeats it. Read models that began with another base are rebuilt.
void catch_up_read_models(const EventLog& log, const fs::path& data) {
  const fs::path directory = data / "projections" / "read_models";
  auto opened = RocksTable::open_or_recreate(directory, RunIndex::format);
  if (!opened) return;
  const auto begun = matches_base(*opened->table, log);
  if (!begun || !*begun) {
    opened->table.reset();
    std::error_code ignored;
    fs::remove_all(directory, ignored);
    opened = RocksTable::open_or_recreate(directory, RunIndex::format);
    if (!opened) return;
  }
  RunIndex index(*opened->table);
  static_cast<void>(Projector(log, index, {}).catch_up());
}

Called<RetentionReport> retain_in(RocksEventLog& log, const RetentionRequest& request) {
  RetentionReport report;
  report.log_bytes_before = report.log_bytes_after = bytes_below(request.data / "log");
  // An age that reaches before 1970 is older than any record.
  const bool exceeds_epoch = request.older_than_ms >= request.now_ns / ns_per_ms;
  const std::int64_t until_ns =
      exceeds_epoch ? 0 : request.now_ns - request.older_than_ms * ns_per_ms;
  auto plan = plan_on_disk(
      log, until_ns,
      request.data / "projections" / (request.dry_run ? "retention-dry-run" : "retention"));
  if (!plan) return tl::unexpected(from_store_error(plan.error()));
  report.plan = std::move(*plan);
  if (report.plan.drops_nothing()) {
    // An earlier retention may have been killed between the drop and this step.
    if (!request.dry_run && log.horizon().position > 0) catch_up_read_models(log, request.data);
    return report;
  }
  std::error_code failed;
  report.archive = fs::absolute(request.archives, failed) /
                   (std::to_string(report.plan.from) + "-" + std::to_string(report.plan.horizon));
  if (request.dry_run) return report;

  const auto manifest = TRY(archive_records(request, report.plan, report.archive));
  if (auto dropped = drop_records(log, request, report.plan, report.archive, manifest); !dropped) {
    return tl::unexpected(from_store_error(dropped.error()));
  }
  report.dropped_at = log.horizon().dropped_at;
  catch_up_read_models(log, request.data);
  return report;
}

Called<RetentionReport> retain_of_service(RocksEventLog& log, const fs::path& data,
                                          const RetentionSettings& settings, std::int64_t now_ns) {
  const auto signers = TRY(read_signers({settings.key.string()}));
  RetentionRequest request;
  request.data = data;
  request.archives = settings.archives;
  request.older_than_ms = settings.older_than_ms;
  request.now_ns = now_ns;
  request.actor = by_the_service.actor;
  request.signers = signers;
  return retain_in(log, request);
}

}  // namespace

Called<RetentionReport> retain(const RetentionRequest& request) {
  TRY(require_outside(request.archives, request.data));
  auto opened = TRY(request.dry_run ? read_log(request.data) : open_log_exclusively(request.data));
  auto report = retain_in(*opened.log, request);
  if (report) report->strange_key = unadopted_key_text(request.signers, opened.adopted);
  if (!report || report->dropped_at == 0) return report;
  if (auto closed = opened.log->close(); !closed) {
    return tl::unexpected(from_store_error(closed.error()));
  }
  report->log_bytes_after = bytes_below(request.data / "log");
  return report;
}

RetainRecords retain_in_service() {
  return [](RocksEventLog& log, const fs::path& data, const RetentionSettings& settings,
            std::int64_t now_ns) {
    RetentionOutcome outcome;
    const auto report = retain_of_service(log, data, settings, now_ns);
    if (!report) {
      outcome.error = message_of(report.error());
      outcome.next_commands = next_commands_of(report.error());
      return outcome;
    }
    outcome.dropped_at = report->dropped_at;
    outcome.horizon = report->plan.horizon;
    outcome.records_dropped = report->plan.records_dropped;
    outcome.archive = report->archive.string();
    return outcome;
  };
}

}  // namespace signalbox
