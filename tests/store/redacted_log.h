// A log with a text in it that has to go.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "store/event_log.h"
#include "store/random_source.h"

namespace signalbox::test {

// Random, so that no compression hides it.
inline constexpr const char* secret_text = "q7Zt0vXw4LbR9sKyJ2mNfHcPdGaE8uT5iQo1xWz6";
// Of the record that append_secret() appends to an empty log: the second of three.
inline constexpr Position secret_position = 2;

void append_secret(EventLog& log);

// What takes the text out of the record; its note is numbered tail + 1.
Redaction redaction_of_secret(Position tail, Position position);

// Takes the text out of the record.
AppendResult redact_secret(EventLog& log, Position position = secret_position);

// The files under a directory that hold the text, one a line.
std::string files_with_secret(const std::filesystem::path& directory,
                              std::string_view text = secret_text);

// Salts that are the same at every use.
RandomSource counted_salts();

}  // namespace signalbox::test
