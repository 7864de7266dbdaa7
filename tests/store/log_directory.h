// Logs on disk for tests: filled, copied as a crash would leave them, and damaged.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "store/rocks_event_log.h"

namespace signalbox::test {

// Opens or throws with the message.
std::unique_ptr<RocksEventLog> open_log(const std::filesystem::path& data,
                                        RocksEventLog::Options options = {});

// Appends `commits` commits, each durable by itself, of three sample records.
void append_commits(EventLog& log, int commits);

// Every record, or the error of the scan.
Stored<std::vector<Record>> all_records(const EventLog& log);

// Every record after the horizon, likewise.
Stored<std::vector<Record>> records_there(const EventLog& log);

// What a drop needs: its event, numbered, and itself. `tree` is that of the records up to
// `position`.
struct PreparedDrop {
  Commit commit;
  HistoryDrop drop;
};
PreparedDrop prepare_drop(const EventLog& log, const MerkleFrontier& tree,
                          std::vector<PositionRange> kept, std::string base);

// What a machine that stops now leaves behind: a copy of all files as they are.
void copy_directory(const std::filesystem::path& from, const std::filesystem::path& to);

// The files of the database with this extension, or whose name begins so; oldest first.
std::vector<std::filesystem::path> database_files(const std::filesystem::path& data,
                                                  const std::string& extension_or_prefix);

}  // namespace signalbox::test
