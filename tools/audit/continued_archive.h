// The archive that the next one continues: what the latest HistoryDropped says of it is compared
// with what lies on the disk, before more records are dropped.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "store/event_log.h"
#include "tools/cli/call_error.h"

namespace signalbox {

// Makes an error of a retention or of a redaction in an archive, with this code and exit code 1.
CallError archive_refused(const char* code, std::string message,
                          std::vector<std::string> next_commands);

// Makes the usage error for archives in the data directory.
CallError archive_inside_data(const std::filesystem::path& archives);

// Checks the archive of the latest drop: its manifest and checkpoint are those of the records that
// the log dropped, its files are there, and each file of digests is the one that the manifest
// names. Signatures and records aren't checked; `audit verify` does that. Fails with ARCHIVE_LOST
// or ARCHIVE_CHANGED. A log without drops has none: ok. `key` is a verifier key for the suggested
// command.
Called<void> require_continued_archive(const EventLog& log, const std::string& key);

// Returns the directory `archives` as it is without links, after creating it if it can be. Fails
// with a usage error if that, or the archive `name` in it, is in the data directory or is a link.
Called<std::filesystem::path> archive_place(const std::filesystem::path& archives,
                                            const std::string& name,
                                            const std::filesystem::path& data);

// Returns the archive that has the record at `position`, which is at or before the horizon: that of
// the latest drop or a sibling of it; empty if there is none on the disk.
std::filesystem::path find_archive(const EventLog& log, Position position);

}  // namespace signalbox
