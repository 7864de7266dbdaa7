// A change of one file of a run root, as data: renderers return it, run_root_disk.h carries it out.
// Also the files' paths, and the backlog of changes that wait to be written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include "domain/ids.h"

namespace signalbox {

struct FileChange {
  enum class Kind : std::uint8_t {
    write,   // `bytes` are the whole file
    remove,  // the file is to be gone, unless it belongs to somebody else (found_file.h)
    append,  // `bytes` are rows of a ledger, each with its line break
  };
  BOOST_DESCRIBE_NESTED_ENUM(Kind, write, remove, append)

  std::string root;  // absolute
  std::string path;  // relative to the root: "logs/ticks.jsonl"
  Kind kind = Kind::write;
  std::string bytes;
  Position position = 0;   // of the record that causes the change
  Position halted_at = 0;  // for a marker's removal: position of the halt that it ends, or 0

  friend bool operator==(const FileChange&, const FileChange&) = default;
};
BOOST_DESCRIBE_STRUCT(FileChange, (), (root, path, kind, bytes, position, halted_at))

// A change that couldn't be carried out, and why.
struct FailedChange {
  FileChange change;
  std::string why;
};
BOOST_DESCRIBE_STRUCT(FailedChange, (), (change, why))

// The files' paths relative to a run root. Their schemas: PROTOCOL.md, "Files in a run root".
namespace run_root_path {
inline constexpr const char* lock = ".lock";
inline constexpr const char* tick_marker = "logs/tick-in-progress.json";
inline constexpr const char* tick_ledger = "logs/ticks.jsonl";
inline constexpr const char* latest_halt = "operator/halt/latest.json";
inline constexpr const char* timeout_markdown = "logs/timeout-checkpoint.md";
inline constexpr const char* timeout_json = "logs/timeout-checkpoint.json";
inline constexpr const char* manifest = "manifest.json";
inline constexpr const char* run_config = "run_config.json";
}  // namespace run_root_path

// Changes that wait to be written, merged to one per file: the newest content of a file, and for a
// ledger all rows that were added. Not thread-safe.
class RunRootBacklog {
 public:
  using Key = std::pair<std::string, std::string>;  // root, path

  struct Entry {
    FileChange change;   // change.position is that of the newest record
    Position first = 0;  // position of the oldest record
  };

  // Adds a change: a write or a removal replaces the file's earlier change, rows are appended to
  // it.
  void add(FileChange change);

  [[nodiscard]] bool empty() const { return entries_.empty(); }
  // Number of files, and bytes of all their changes together.
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] const std::map<Key, Entry>& entries() const { return entries_; }
  // Removes the first entry, in the order of Key, and returns it. The backlog isn't empty.
  Entry take_first();

 private:
  std::map<Key, Entry> entries_;
  std::size_t bytes_ = 0;
};

}  // namespace signalbox
