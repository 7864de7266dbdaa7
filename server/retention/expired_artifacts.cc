// The artifacts of ExpiredRunFiles. A blob may belong to several runs, so it goes only if no run
// that stays has it.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <system_error>

#include "domain/nanoseconds.h"
#include "domain/try.h"
#include "projections/run_history.h"
#include "server/platform/artifact_store.h"
#include "server/platform/call_bounds.h"
#include "server/retention/expired_run_files.h"

namespace signalbox {
namespace {

// Blobs that are compared with the log at a time.
constexpr std::size_t compared_artifacts_max = 100'000;
constexpr std::size_t protected_rows_per_page = 256;
constexpr std::size_t records_per_read = 256;

template <class Event>
concept HasArtifacts = requires(const Event& event) {
  event.result.artifacts;
};

// Calls `visit` with the digest of each artifact that the record names.
template <class Visit>
void for_each_artifact(const Record& record, Visit visit) {
  apply(
      [&visit]([[maybe_unused]] const auto& event) {
        if constexpr (HasArtifacts<std::remove_cvref_t<decltype(event)>>) {
          for (const Artifact& artifact : event.result.artifacts) visit(artifact.sha256);
        }
      },
      record.event);
}

// Removes what runners left of artifacts with whose upload they haven't gone on since then: files
// of the service's own in one directory. Returns their bytes.
std::uint64_t remove_left_uploads(const std::filesystem::path& directory, std::int64_t before_ns) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator each(directory, error), end; !error && each != end;
       each.increment(error)) {
    struct stat status {};
    if (::lstat(each->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    const std::int64_t changed_ns = status.st_mtim.tv_sec * ns_per_s + status.st_mtim.tv_nsec;
    if (changed_ns >= before_ns || ::unlink(each->path().c_str()) != 0) continue;
    bytes += static_cast<std::uint64_t>(status.st_size);
  }
  return bytes;
}

}  // namespace

// Returns whether the round may go on with artifacts; if it can't for its time, says so.
bool ExpiredRunFiles::has_time_for_artifacts() {
  if (CallBounds::now_ms() < artifacts_until_ms_) return !parts_.stopped;
  report_.is_partial = true;
  return false;
}

// Lists old blobs of the next parts of the store, as many as are compared at a time, for at most
// half of the time that is left, so that some are removed however slowly the store lists. A listing
// that is cut within a part leaves the rest of it until all others had their turn: of a store that
// lists without end, no part comes to one.
Stored<void> ExpiredRunFiles::list_old_artifacts() {
  old_artifacts_.clear();
  const std::int64_t age_ms = std::max(round_.older_than_ms, unnamed_artifact_ms_min);
  const std::int64_t began_ms = CallBounds::now_ms();
  const std::int64_t list_until_ms = began_ms + (artifacts_until_ms_ - began_ms) / 2;
  const auto goes_on = [&] { return CallBounds::now_ms() < list_until_ms && !parts_.stopped; };
  while (artifact_parts_left_ > 0 && old_artifacts_.size() < compared_artifacts_max && goes_on()) {
    --artifact_parts_left_;
    if (!round_.is_dry) {
      report_.bytes_removed += TRY(parts_.artifacts.remove_unfinished(
          next_artifacts_, round_.now_ns - unnamed_artifact_ms_min * ns_per_ms));
    }
    TRY(parts_.artifacts.list(next_artifacts_++, [&](const KeptBlob& blob) {
      const std::int64_t stored_s = blob.stored_ns / ns_per_s;
      if ((round_.now_ns / ns_per_s - stored_s) * 1000 >= age_ms)
        old_artifacts_[blob.sha256] += blob.bytes;
      if (goes_on()) return true;
      report_.is_partial = true;
      return false;
    }));
  }
  old_artifacts_.erase(round_.crash_report);
  return {};
}

// Takes the artifacts of a run from old_artifacts_, unless its files go.
Stored<void> ExpiredRunFiles::protect_artifacts_of(const RunRow& row) {
  if (is_expired(row) && !kept_.contains(row.run_id)) return {};
  const auto positions = TRY(index().run_positions(row.run_id));
  for (std::size_t next = 0; next < positions.size(); next += records_per_read) {
    const auto count = std::min(records_per_read, positions.size() - next);
    const auto records =
        read_records(parts_.log, std::span<const Position>(positions).subspan(next, count));
    if (!records && records.error().kind == StoreError::Kind::dropped) return {};
    if (!records) return tl::unexpected(records.error());
    for (const Record& record : *records) {
      for_each_artifact(record, [this](const Digest& digest) { old_artifacts_.erase(digest); });
    }
  }
  return {};
}

Stored<void> ExpiredRunFiles::protect_artifacts() {
  Position cursor = 0;
  do {
    if (old_artifacts_.empty() || parts_.stopped) return {};
    const RunPage page = TRY(index().list({}, protected_rows_per_page, cursor));
    for (const RunRow& row : page.rows) {
      if (row.started_position <= settled_through_) break;
      TRY(protect_artifacts_of(row));
    }
    cursor = page.next_cursor;
    if (!page.rows.empty() && page.rows.back().started_position <= settled_through_) break;
  } while (cursor != 0);
  for (const auto& [run_id, found] : on_disk_) {
    const auto row = TRY(index().find(run_id));
    if (row && row->started_position <= settled_through_) TRY(protect_artifacts_of(*row));
  }
  return {};
}

Stored<bool> ExpiredRunFiles::remove_artifacts() {
  if (artifacts_until_ms_ == 0) {
    artifacts_until_ms_ = CallBounds::now_ms() + parts_.artifacts_ms_max;
    if (!round_.is_dry) {
      TRY(parts_.artifacts.claim_removals(parts_.owner));
      report_.bytes_removed += remove_left_uploads(
          parts_.data / "uploads", round_.now_ns - unnamed_artifact_ms_min * ns_per_ms);
    }
  }
  TRY(list_old_artifacts());
  TRY(protect_artifacts());
  const std::int64_t age_ms = std::max(round_.older_than_ms, unnamed_artifact_ms_min);
  for (const auto& [digest, listed_bytes] : old_artifacts_) {
    std::uint64_t bytes = listed_bytes;
    if (!round_.is_dry) {
      if (!has_time_for_artifacts()) return false;
      bytes = TRY(parts_.artifacts.remove_older(digest, round_.now_ns - age_ms * ns_per_ms));
    }
    if (bytes == 0) continue;
    ++report_.artifacts_removed;
    report_.bytes_removed += bytes;
  }
  return artifact_parts_left_ > 0 && has_time_for_artifacts();
}

}  // namespace signalbox
