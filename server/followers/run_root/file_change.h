// What becomes of one file of a run root, as data: renderers give it, RunRootDisk carries it out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "domain/ids.h"

namespace signalbox {

struct FileChange {
  enum class Kind : std::uint8_t {
    write,   // `bytes` are the whole file
    remove,  // the file isn't there, unless it is somebody else's (found_file.h)
    append,  // `bytes` are a row of a ledger, with its line break
  };

  std::string root;  // absolute
  std::string path;  // below the root: "logs/ticks.jsonl"
  Kind kind = Kind::write;
  std::string bytes;
  Position position = 0;   // of the record that it follows from
  Position halted_at = 0;  // of a marker's removal: of the halt that ends with it, or 0

  friend bool operator==(const FileChange&, const FileChange&) = default;
};

// The files' places below a run root. PROTOCOL.md, "Files in a run root", has their schemas.
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

// Changes that wait to be written, at most one a file: only the newest state of a file is written,
// and of a ledger the rows that came in between.
class RunRootBacklog {
 public:
  using Key = std::pair<std::string, std::string>;  // root, path

  struct Entry {
    FileChange change;   // its position is that of the newest record
    Position first = 0;  // that of the oldest
  };

  // A write or a removal takes the place of what was there; a row is added to it.
  void add(FileChange change);

  // One by one, each once.
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] const std::map<Key, Entry>& entries() const { return entries_; }
  Entry take_first();

 private:
  std::map<Key, Entry> entries_;
  std::size_t bytes_ = 0;
};

}  // namespace signalbox
