// Logs on disk for tests: opened, filled, dropped from, and copied as a crash would leave them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "store/rocks_event_log.h"

namespace signalbox::test {

// Opens the log or throws std::runtime_error with the error's message.
std::unique_ptr<RocksEventLog> open_log(const std::filesystem::path& data,
                                        RocksEventLog::Options options = {});

// Appends `commits` commits, each durable by itself, of three sample records.
void append_commits(EventLog& log, int commits);

// Returns every record, or the error of the scan.
Stored<std::vector<Record>> all_records(const EventLog& log);

// Returns every record after the horizon, or the error of the scan.
Stored<std::vector<Record>> records_after_horizon(const EventLog& log);

// The arguments of EventLog::drop(): the commit with its HistoryDropped event, and the drop.
struct PreparedDrop {
  Commit commit;
  HistoryDrop drop;
};
// Prepares the drop of the records of `tree`, i.e. up to its last leaf, except `kept`.
PreparedDrop prepare_drop(const EventLog& log, const MerkleFrontier& tree,
                          std::vector<PositionRange> kept, std::string base);

// Replaces `to` by a copy of all files as they are, as a process that is killed now leaves them.
void copy_directory(const std::filesystem::path& from, const std::filesystem::path& to);

// Returns the database files whose extension, or the beginning of whose name, this is; sorted by
// name.
std::vector<std::filesystem::path> database_files(const std::filesystem::path& data,
                                                  const std::string& extension_or_prefix);

}  // namespace signalbox::test
