#include "tools/audit/retention.h"

#include <fcntl.h>

#include <optional>

#include "domain/nanoseconds.h"
#include "domain/try.h"
#include "projections/history_base.h"
#include "projections/retention_on_disk.h"
#include "projections/rocks_table.h"
#include "server/cell/cell_mark.h"
#include "server/engine/engine.h"
#include "server/engine/recovery.h"
#include "server/followers/projector.h"
#include "store/event_log.h"
#include "store/file_descriptor.h"
#include "store/sha256.h"
#include "tools/audit/audit_export.h"
#include "tools/audit/audit_keys.h"
#include "tools/audit/audit_verify.h"
#include "tools/audit/continued_archive.h"
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

Called<std::unique_ptr<RocksEventLog>> open_log_exclusively(const fs::path& data) {
  std::error_code ignored;
  if (!fs::exists(data / "log" / "CURRENT", ignored)) {  // opening would create a log
    return tl::unexpected(usage_error("there is no log in " + data.string()));
  }
  TRY(called(require_replica_of(data, "")));
  auto recovered = recover(data, {}, "signalbox audit retain");
  if (recovered) return std::move(recovered->log);
  StoreError error = std::move(recovered.error());
  CallError called = from_store_error(error);
  if (error.kind == StoreError::Kind::in_use) {
    called.error["message"] =
        error.message + ": records are dropped only while nobody else has the log";
  }
  return tl::unexpected(std::move(called));
}

// Opens the log read-only, which is possible beside a running server.
Called<std::unique_ptr<RocksEventLog>> read_log(const fs::path& data) {
  return TRY(called(RocksEventLog::open(data, {.read_only = true})));
}

// Requires that the key which the log has adopted is among the signers: verifiers that follow the
// adopted keys through the log refuse an archive that only others signed.
Called<void> require_adopted_key(const std::vector<NoteSigner>& signers,
                                 const std::optional<AuditKey>& adopted) {
  std::string why;
  for (const NoteVerifier& verifier : verifiers_of(signers)) {
    std::string unadopted = unadopted_key_text(verifier, adopted);
    if (unadopted.empty()) return {};
    if (why.empty()) why = std::move(unadopted);
  }
  return tl::unexpected(archive_refused(
      "KEY_NOT_ADOPTED", why + "; adopt it while the server runs, or sign with the adopted one",
      {"signalbox audit adopt " + for_the_shell(signers.front().verifier().text())}));
}

// Returns whether this is the name of an archive of ours that begins at the record.
bool is_archive_name(std::string_view name, Position from, std::string_view mark) {
  const std::string begin = std::to_string(from) + "-";
  const std::string end = mark.empty() ? "" : "-" + std::string(mark);
  if (name.size() <= begin.size() + end.size() || !name.starts_with(begin)) return false;
  if (!name.ends_with(end)) return false;
  name = name.substr(begin.size(), name.size() - begin.size() - end.size());
  return name.find_first_not_of("0123456789") == std::string_view::npos;
}

// Returns the other archives that begin at the same record, which attempts that were killed left:
// nothing refers to them, as the log still has all of their records.
std::vector<fs::path> left_archives(const RetentionRequest& request, Position from,
                                    const fs::path& archive) {
  std::vector<fs::path> left;
  std::error_code failed;
  for (const auto& each : fs::directory_iterator(archive.parent_path(), failed)) {
    const std::string name = each.path().filename().string();
    if (each.path() == archive || !is_archive_name(name, from, request.archive_mark)) continue;
    if (!each.is_symlink(failed) && each.is_directory(failed)) left.push_back(each.path());
  }
  return left;
}

// Removes an archive that was left, once the new one is there. One of another history of the log,
// as after a restored backup, has records that are nowhere else, and stays.
void remove_continued(const fs::path& left, const fs::path& archive,
                      const std::vector<NoteVerifier>& trusted, Position from) {
  std::error_code failed;
  const auto notes = read_export_notes(left, trusted);
  const bool is_earlier = notes && notes->manifest.from == from &&
                          verify_export({archive, trusted, left / checkpoint_name});
  if (is_earlier) fs::remove_all(left, failed);
}

// Writes and verifies the archive, and removes those that attempts left which were killed before
// the drop: texts in them may have been redacted since. After a failure there is nothing that
// wasn't there before.
Called<ExportManifest> archive_records(const RetentionRequest& request, const RetentionPlan& plan,
                                       const fs::path& archive) {
  const auto trusted = verifiers_of(request.signers);
  const auto left = left_archives(request, plan.from, archive);
  std::error_code unknown;
  for (const fs::path& each : left) {
    if (is_unfinished_export(each)) fs::remove_all(each, unknown);
  }
  ExportRequest wanted;
  wanted.data = request.data;
  wanted.directory = archive;
  wanted.to = plan.horizon;
  wanted.signers = request.signers;
  const auto present = read_export_notes(archive, trusted);
  if (present && present->manifest.from == plan.from && present->manifest.to == plan.horizon) {
    TRY(export_log(wanted));  // fails for an export of another history
    fs::remove_all(archive, unknown);
  }
  const bool is_new = fs::symlink_status(archive, unknown).type() == fs::file_type::not_found;
  const auto give_up = [&](CallError error) {
    if (is_new) fs::remove_all(archive, unknown);
    return tl::unexpected(std::move(error));
  };
  wanted.from = plan.from;
  if (auto exported = export_log(wanted); !exported) return give_up(std::move(exported.error()));
  forget_cached(archive);
  auto verified = verify_export({archive, trusted, std::nullopt});
  if (!verified) return give_up(std::move(verified.error()));
  if (verified->manifest.from != plan.from || verified->manifest.to != plan.horizon) {
    return give_up(io_error(archive.string() + " hasn't the records " + std::to_string(plan.from) +
                            " to " + std::to_string(plan.horizon)));
  }
  for (const fs::path& each : left) remove_continued(each, archive, trusted, plan.from);
  return verified->manifest;
}

// Returns the time, UTC, at which what has this age now was written. An age that reaches before
// 1970 is older than any record.
std::int64_t age_begin_ns(const RetentionRequest& request, std::int64_t age_ms) {
  const bool exceeds_epoch = age_ms >= request.now_ns / ns_per_ms;
  return exceeds_epoch ? 0 : request.now_ns - age_ms * ns_per_ms;
}

HistoryDropped event_of(const RetentionRequest& request, const RetentionPlan& plan,
                        const fs::path& archive, const ExportManifest& manifest) {
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
  event.failed_until_ns = age_begin_ns(request, request.failed_runs_ms);
  return event;
}

Stored<void> drop_records(RocksEventLog& log, const RetentionRequest& request,
                          const HistoryDropped& event, const HistoryDrop& drop) {
  Record record;
  record.position = log.tail() + 1;
  record.stream = Stream::server();
  record.recorded_at_ns = request.now_ns;
  record.actor = request.actor;
  record.event = Event(ServerEvent(event));
  return log.drop(log.tail(), {record}, drop);
}

// Updates the read models, which would delay the next start otherwise. Errors are ignored, since
// the next start repeats it. Read models that began with another base are rebuilt.
void catch_up_read_models(const EventLog& log, const fs::path& data) {
  const fs::path directory = data / "projections" / "read_models";
  auto opened = RocksTable::open_or_recreate(directory, RunIndex::table_format);
  if (!opened) return;
  const auto begun = matches_base(*opened->table, log);
  if (!begun || !*begun) {
    opened->table.reset();
    std::error_code ignored;
    fs::remove_all(directory, ignored);
    opened = RocksTable::open_or_recreate(directory, RunIndex::table_format);
    if (!opened) return;
  }
  RunIndex index(*opened->table);
  static_cast<void>(Projector(log, index, {}).catch_up());
}

// A retention whose records are archived; without an event there is nothing to drop.
struct Archived {
  RetentionReport report;
  std::optional<HistoryDropped> event;
};

// Does everything before the drop, which only reads the log.
Called<Archived> archive_old(const EventLog& log, const RetentionRequest& request) {
  Archived archived;
  RetentionReport& report = archived.report;
  if (!request.archive_lost) {
    TRY(require_continued_archive(log, request.signers.front().verifier().text()));
  }
  report.plan = TRY(called(plan_on_disk(
      scratch_of(request.data, request.dry_run ? PlanScratch::dry_run : PlanScratch::retention),
      [&](Table& scratch) {
        return plan_retention(log, age_begin_ns(request, request.older_than_ms), scratch,
                              age_begin_ns(request, request.failed_runs_ms), request.now_ns);
      })));
  const bool is_idle = request.only_worthwhile && !report.plan.is_worthwhile();
  if (report.plan.drops_nothing() || is_idle) return archived;
  TRY(require_adopted_key(request.signers, report.plan.audit_key));
  std::error_code failed;
  const std::string name = std::to_string(report.plan.from) + "-" +
                           std::to_string(report.plan.horizon) +
                           (request.archive_mark.empty() ? "" : "-" + request.archive_mark);
  report.archive = fs::absolute(request.archives, failed) / name;
  if (request.dry_run) return archived;

  // Written at its place without links, so that a link that is changed meanwhile has no effect.
  const auto place = TRY(archive_place(request.archives, name, request.data));
  const auto manifest = TRY(archive_records(request, report.plan, place));
  archived.event = event_of(request, report.plan, report.archive, manifest);
  return archived;
}

Called<RetentionReport> retain_in(RocksEventLog& log, const RetentionRequest& request) {
  const std::uintmax_t log_bytes = bytes_below(request.data / "log");
  auto archived = TRY(archive_old(log, request));
  RetentionReport& report = archived.report;
  report.log_bytes_before = report.log_bytes_after = log_bytes;
  if (archived.event) {
    TRY(called(drop_records(log, request, *archived.event, report.plan.drop)));
    report.dropped_at = log.horizon().dropped_at;
  }
  // An earlier retention may have been killed between the drop and this step.
  if (!request.dry_run && log.horizon().position > 0) catch_up_read_models(log, request.data);
  return report;
}

Called<StagedRetention> stage_of_service(const DroppableLog& log, const fs::path& data,
                                         const RetentionSettings& settings, std::int64_t now_ns,
                                         const std::atomic<bool>& stopped) {
  const auto signers = TRY(read_signers({settings.key.string()}));
  RetentionRequest request;
  request.data = data;
  request.archives = settings.archives;
  request.archive_mark = settings.archive_mark;
  request.older_than_ms = settings.older_than_ms;
  request.failed_runs_ms = settings.failed_runs_ms;
  request.only_worthwhile = true;
  request.now_ns = now_ns;
  request.actor = by_the_service.actor;
  request.signers = signers;
  auto archived = TRY(archive_old(InterruptibleLog(log, stopped), request));
  RetentionPlan& plan = archived.report.plan;
  StagedRetention staged;
  staged.outcome.horizon = plan.horizon;
  if (!archived.event) return staged;
  TRY(called(require_drop_space(data, plan.drop)));
  staged.drop = TRY(called(log.stage_drop(std::move(plan.drop), &stopped)));
  staged.event = std::move(archived.event);
  staged.dropped_nouns = std::move(plan.dropped_nouns);
  staged.audit_key = std::move(plan.audit_key);
  staged.outcome.records_dropped = plan.records_dropped;
  staged.outcome.archive = archived.report.archive.string();
  return staged;
}

}  // namespace

Called<RetentionReport> retain(const RetentionRequest& request) {
  if (is_in_directory(request.archives, request.data)) {
    return tl::unexpected(archive_inside_data(request.archives));
  }
  auto log = TRY(request.dry_run ? read_log(request.data) : open_log_exclusively(request.data));
  auto report = retain_in(*log, request);
  if (!report || report->dropped_at == 0) return report;
  TRY(called(log->close()));
  report->log_bytes_after = bytes_below(request.data / "log");
  return report;
}

StageRetention stage_in_service() {
  return [](const DroppableLog& log, const fs::path& data, const RetentionSettings& settings,
            std::int64_t now_ns, const std::atomic<bool>& stopped) {
    auto staged = stage_of_service(log, data, settings, now_ns, stopped);
    if (staged) return *std::move(staged);
    StagedRetention failed;
    failed.outcome.error = message_of(staged.error());
    failed.outcome.next_commands = next_commands_of(staged.error());
    return failed;
  };
}

}  // namespace signalbox
