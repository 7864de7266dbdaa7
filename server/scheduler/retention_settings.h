// The settings of the retention, which moves old records into an archive: the table [retention] of
// the configuration file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "domain/access_token.h"
#include "server/scheduler/schedule.h"
#include "store/signed_note.h"

namespace signalbox {

namespace limits {
inline constexpr std::int64_t retention_age_ms_min = 1000;
inline constexpr std::int64_t retention_age_ms_max = 100LL * 366 * 24 * 60 * 60 * 1000;
inline constexpr std::size_t signing_key_bytes_max = 1024;
}  // namespace limits

struct RetentionSettings {
  std::int64_t older_than_ms;
  std::int64_t failed_runs_ms;     // since its failure, a run that can be retried stays as long
  std::filesystem::path archives;  // absolute; each drop gets a directory FROM-TO below it
  std::filesystem::path key;       // absolute; file with the private key that signs the archives
  Schedule schedule;
  // Follows FROM-TO in the name of an archive: of a cell, the server that makes it. Another one may
  // still be at its own of the same records, which it was about to drop when it was deposed.
  std::string archive_mark{};
};

// The settings as written in the file, or their defaults; paths are absolute.
struct RetentionTexts {
  std::string older_than;
  std::string failed_runs = "90d";
  std::string archive;
  std::string key;
  std::string schedule = "30 3 * * *";
  std::string time_zone = "local";
};

// Returns the text that belongs to `key`; nullptr if there is no such key. Sets `is_path` if the
// text is a path, which the configuration file gives relative to itself.
std::string* retention_text(RetentionTexts& texts, std::string_view key, bool& is_path);

// Validates the settings; reads the key's file to check that it holds a private key. The error is a
// sentence that names the setting and says what to write instead. `data` is the data directory.
tl::expected<RetentionSettings, std::string> read_retention_settings(
    const RetentionTexts& texts, const std::filesystem::path& data);

// Returns "" if the log has adopted the key, else a sentence that says what it has adopted instead.
std::string unadopted_key_text(const NoteVerifier& key, const std::optional<AuditKey>& adopted);

// Returns the private key in `file`; nullopt if it can't be read, or is no regular file.
std::optional<NoteSigner> signer_in(const std::filesystem::path& file);

// Returns why there is no private key in `file`, without quoting it; "" if there is one.
std::string signing_key_fault(const std::filesystem::path& file);

// Returns the public half of the private key in `file`; nullopt if it can't be read.
std::optional<NoteVerifier> verifier_in(const std::filesystem::path& file);

// Returns true if `path` is in `directory`, or that can't be determined. Used to refuse archives in
// the data directory: they would be lost with it, or be deleted as disposable (projections/).
bool is_in_directory(const std::filesystem::path& path, const std::filesystem::path& directory);

}  // namespace signalbox
