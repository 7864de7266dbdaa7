// What becomes of one file of a run root, as data: renderers give it, RunRootDisk carries it out.
#pragma once

#include <cstdint>
#include <string>

#include "domain/ids.h"

namespace signalbox {

struct FileChange {
  enum class Kind : std::uint8_t {
    write,   // `bytes` are the whole file
    remove,  // the file isn't there, unless it is somebody else's (own_file.h)
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

}  // namespace signalbox
