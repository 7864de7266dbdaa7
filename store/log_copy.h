// A copy of a log at one moment, made beside the server that writes it.
//
// RocksDB, opened for reading only, sees the log as it was then: the tables stay open when the
// server removes them, and what was in no table yet is in memory. From that view every row is
// written to a database of its own. What the view doesn't show isn't in the copy: replaced texts
// whose erasure is due, dropped records whose files weren't rewritten yet. What is due stays due:
// the marks are rows like others.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "store/merkle_tree.h"
#include "store/store_error.h"

namespace rocksdb {
class Env;
}

namespace signalbox {

struct LogCopy {
  MerkleFrontier frontier;  // the tree over the records that were copied
  std::uint64_t bytes = 0;  // of all files of the copy

  [[nodiscard]] Position position() const { return frontier.leaves; }
};

// How far a copy is.
struct LogCopyProgress {
  enum class Part { copying, checking };
  Part part = Part::copying;
  Position done = 0;        // the last record that was copied
  Position of = 0;          // the last one there is
  std::uint64_t bytes = 0;  // of the entries that were copied
};
// Called after each entry, and when another part begins.
using NoteLogCopy = std::function<void(const LogCopyProgress&)>;

// Copies the log of the data directory `from`, also of a running server, into the directory `to`,
// which must be there and have no log: `log/` and `anchor`, as a server finds them that opens
// `to`. Writes nothing into `from`. Every record is checked against the tree and the anchor as it
// is read; then the copy is read again from its files and compared with that. Durable when it
// returns ok. Fails with `damaged` if the log is; with `not_found` if there is none, or none that
// has a record; with `full`, before anything is written if the disk is too small for a log of that
// size; with `in_use` if the log changes so much that it can't be opened; and with `io`. What it
// has written until an error stays. Blocks for as long as it takes to read the log once and the
// copy twice; takes as much memory as the log's last appends do that are in no table yet.
// `note` may be empty. `env` isn't owned: the disk of the copy, for tests; null for the usual one.
Stored<LogCopy> copy_log(const std::filesystem::path& from, const std::filesystem::path& to,
                         rocksdb::Env* env = nullptr, const NoteLogCopy& note = {});

}  // namespace signalbox
