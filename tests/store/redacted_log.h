// A log with a secret text in a record, and its redaction.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "store/event_log.h"
#include "store/random_source.h"

namespace signalbox::test {

// Random characters, so that no compression hides the text in a file.
inline constexpr const char* secret_text = "q7Zt0vXw4LbR9sKyJ2mNfHcPdGaE8uT5iQo1xWz6";
// Position of the record with the secret in a log that was empty before append_secret(): the second
// of three.
inline constexpr Position secret_position = 2;

// Appends a commit of three records, of which the second has the secret. Throws if the log refuses
// it.
void append_secret(EventLog& log);

// Returns the redaction of the secret from the record at `position`; its note has position tail +
// 1.
Redaction redaction_of_secret(Position tail, Position position);

// Redacts the secret from the record at `position`. Throws on an error.
AppendResult redact_secret(EventLog& log, Position position = secret_position);

// Returns the files under a directory that contain the text, one per line.
std::string files_with_secret(const std::filesystem::path& directory,
                              std::string_view text = secret_text);

// Returns a source that gives the same salts in every test.
RandomSource counted_salts();

}  // namespace signalbox::test
