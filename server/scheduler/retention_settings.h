// What the service moves into an archive by itself, and when: the table [retention] of the
// configuration file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "server/scheduler/schedule.h"

namespace signalbox {

namespace limits {
inline constexpr std::int64_t retention_age_ms_min = 1000;
inline constexpr std::int64_t retention_age_ms_max = 100LL * 366 * 24 * 60 * 60 * 1000;
inline constexpr std::size_t signing_key_bytes_max = 1024;
}  // namespace limits

struct RetentionSettings {
  std::int64_t older_than_ms;
  std::filesystem::path archives;  // absolute; one directory FROM-TO below it for each drop
  std::filesystem::path key;       // absolute; the private key that the archives are signed with
  Schedule schedule;
};

// As they were written; paths are absolute.
struct RetentionTexts {
  std::string older_than;
  std::string archive;
  std::string key;
  std::string schedule = "30 3 * * *";
  std::string time_zone = "local";
};

// The text of a key, or nullptr: there is no such key. `is_path`: it is relative to the file that
// names it.
std::string* retention_text(RetentionTexts& texts, std::string_view key, bool& is_path);

// Looks whether the key is one. A sentence that names the setting and says what to write instead.
tl::expected<RetentionSettings, std::string> read_retention_settings(
    const RetentionTexts& texts, const std::filesystem::path& data);

// What lies in the data directory can go with it, or be deleted by itself (projections/).
bool is_in_directory(const std::filesystem::path& path, const std::filesystem::path& directory);

}  // namespace signalbox
