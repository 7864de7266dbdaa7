#include "server/scheduler/file_retention_settings.h"

#include "domain/try.h"
#include "server/scheduler/retention_settings.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

tl::expected<std::int64_t, std::string> read_file_age(const char* key, const std::string& text,
                                                      const char* example) {
  const auto age_ms = parse_duration_ms(text);
  if (age_ms && *age_ms >= limits::retention_age_ms_min &&
      *age_ms <= limits::retention_age_ms_max) {
    return *age_ms;
  }
  return tl::unexpected("retention." + std::string(key) + " must be an age from 1s to 36600d, " +
                        "such as " + example + "; not " + text);
}

}  // namespace

std::string* file_retention_text(FileRetentionTexts& texts, std::string_view key) {
  if (key == "files_older_than") return &texts.files_older_than;
  if (key == "files_failed_runs") return &texts.files_failed_runs;
  if (key == "files_branches") return &texts.files_branches;
  if (key == "files_schedule") return &texts.files_schedule;
  return nullptr;
}

tl::expected<FileRetentionSettings, std::string> read_file_retention_settings(
    const FileRetentionTexts& texts, const std::string& time_zone) {
  if (texts.files_older_than.empty()) {
    return tl::unexpected(
        std::string("retention.files_older_than is missing: write files_older_than = \"30d\""));
  }
  const std::int64_t older_than_ms =
      TRY(read_file_age("files_older_than", texts.files_older_than, "30d"));
  const std::int64_t failed_runs_ms =
      TRY(read_file_age("files_failed_runs", texts.files_failed_runs, "90d"));
  auto schedule = Schedule::parse(texts.files_schedule, time_zone);
  if (!schedule) return tl::unexpected("retention.files_schedule: " + schedule.error());
  std::optional<std::int64_t> branches_ms;
  if (!texts.files_branches.empty()) {
    branches_ms = TRY(read_file_age("files_branches", texts.files_branches, "365d"));
  }
  return FileRetentionSettings{older_than_ms, failed_runs_ms, std::move(*schedule), branches_ms};
}

}  // namespace signalbox
