#include "server/scheduler/retention_settings.h"

#include "domain/limits.h"
#include "domain/try.h"
#include "server/text/time_text.h"
#include "store/durable_file.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

tl::unexpected<std::string> missing_retention_setting(const char* key, const char* example) {
  return tl::unexpected("retention." + std::string(key) + " is missing: write " + example);
}

// The error never quotes the file's content, which is a secret.
tl::expected<void, std::string> require_signing_key(const std::string& file) {
  const std::string next =
      "; `signalbox audit keygen -o " + file + " --name example.com/box` makes one";
  const std::string fault = signing_key_fault(file);
  if (fault.empty()) return {};
  return tl::unexpected("retention.key: " + fault + next);
}

// Returns the text of a key's file. What is no regular file is never opened: a FIFO would be waited
// for without end.
Stored<std::string> read_key_file(const fs::path& file) {
  std::error_code unknown;
  const fs::file_status status = fs::status(file, unknown);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return store_failure(StoreError::Kind::io, file.string() + " is no regular file",
                         file.string());
  }
  return read_file(file, limits::signing_key_bytes_max);
}

}  // namespace

std::string* retention_text(RetentionTexts& texts, std::string_view key, bool& is_path) {
  is_path = key == "archive" || key == "key";
  if (key == "older_than") return &texts.older_than;
  if (key == "failed_runs") return &texts.failed_runs;
  if (key == "archive") return &texts.archive;
  if (key == "key") return &texts.key;
  if (key == "schedule") return &texts.schedule;
  if (key == "time_zone") return &texts.time_zone;
  return nullptr;
}

tl::expected<RetentionSettings, std::string> read_retention_settings(const RetentionTexts& texts,
                                                                     const fs::path& data) {
  if (texts.older_than.empty()) {
    return missing_retention_setting("older_than", "older_than = \"30d\"");
  }
  if (texts.archive.empty()) {
    return missing_retention_setting("archive", "archive = \"/var/lib/signalbox-archive\"");
  }
  if (texts.key.empty()) return missing_retention_setting("key", "key = \"audit.key\"");
  const auto older_than_ms = parse_duration_ms(texts.older_than);
  if (!older_than_ms || *older_than_ms < limits::retention_age_ms_min ||
      *older_than_ms > limits::retention_age_ms_max) {
    return tl::unexpected(
        "retention.older_than must be an age from 1s to 36600d, such as 30d; not " +
        texts.older_than);
  }
  const auto failed_runs_ms = parse_duration_ms(texts.failed_runs);
  if (!failed_runs_ms || *failed_runs_ms < 0 || *failed_runs_ms > limits::retention_age_ms_max) {
    return tl::unexpected(
        "retention.failed_runs must be an age from 0s to 36600d, such as 90d; not " +
        texts.failed_runs);
  }
  // HistoryDropped has this path with the name of a directory below it, so leave room for that.
  if (texts.archive.size() > limits::path_bytes_max - 128) {
    return tl::unexpected(std::string("retention.archive is too long for a path"));
  }
  if (is_in_directory(texts.archive, data)) {
    return tl::unexpected("retention.archive " + texts.archive +
                          " is in the data directory, with which it would be lost: name one "
                          "elsewhere, best on another disk");
  }
  auto schedule = Schedule::parse(texts.schedule, texts.time_zone);
  if (!schedule) return tl::unexpected("retention.schedule: " + schedule.error());
  TRY(require_signing_key(texts.key));
  return RetentionSettings{*older_than_ms, *failed_runs_ms, texts.archive, texts.key,
                           std::move(*schedule)};
}

std::string unadopted_key_text(const NoteVerifier& key, const std::optional<AuditKey>& adopted) {
  if (adopted && adopted->verifier_key == key.text()) return {};
  const std::string begin = "the log hasn't adopted the key " + key.label() + ", it has adopted ";
  return begin +
         (adopted ? adopted->verifier_key + " at position " + std::to_string(adopted->adopted_at)
                  : "none") +
         ": those who follow its keys would refuse an archive that this one signed";
}

std::optional<NoteSigner> signer_in(const fs::path& file) {
  const auto text = read_key_file(file);
  if (!text) return std::nullopt;
  const std::string_view line(*text);
  return NoteSigner::parse(line.substr(0, line.find_first_of("\r\n")));
}

std::string signing_key_fault(const fs::path& file) {
  const auto text = read_key_file(file);
  if (!text) return text.error().message;
  return signer_in(file) ? "" : file.string() + " holds no private key";
}

std::optional<NoteVerifier> verifier_in(const fs::path& file) {
  const auto signer = signer_in(file);
  if (!signer) return std::nullopt;
  return signer->verifier();
}

bool is_in_directory(const fs::path& path, const fs::path& directory) {
  std::error_code failed;
  const fs::path place = fs::weakly_canonical(fs::absolute(path, failed), failed);
  const fs::path inside = place.lexically_relative(fs::weakly_canonical(directory, failed));
  return failed || (!inside.empty() && *inside.begin() != "..");
}

}  // namespace signalbox
