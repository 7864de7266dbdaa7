// The settings of the file retention, which removes the files of runs that ended long ago: the keys
// of the table [retention] that begin with "files_".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "server/scheduler/schedule.h"

namespace signalbox {

struct FileRetentionSettings {
  std::int64_t older_than_ms;   // age of a run that succeeded or was canceled, since its end
  std::int64_t failed_runs_ms;  // of one that failed, which can be retried until then
  Schedule schedule;
  // Age of branches and rescue refs of ended runs that nothing else has; nullopt: they stay.
  std::optional<std::int64_t> branches_ms = std::nullopt;
};

// The settings as written in the file, or their defaults.
struct FileRetentionTexts {
  std::string files_older_than;
  std::string files_failed_runs = "90d";
  std::string files_branches = {};  // empty: branches with work stay
  std::string files_schedule = "15 4 * * *";
};

// Returns the text that belongs to `key`; nullptr if there is no such key.
std::string* file_retention_text(FileRetentionTexts& texts, std::string_view key);

// Validates the settings. The error is a sentence that names the setting and says what to write
// instead. `time_zone` is that of the table.
tl::expected<FileRetentionSettings, std::string> read_file_retention_settings(
    const FileRetentionTexts& texts, const std::string& time_zone);

}  // namespace signalbox
