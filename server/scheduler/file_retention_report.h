// What a round of the file retention removes, leaves alone, and finds on the disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "domain/ids.h"

namespace signalbox {

namespace limits {
// How many runs and kept things a report names; it counts all of them.
inline constexpr std::size_t file_retention_rows_max = 100;
}  // namespace limits

// Files of a run that are old enough to go.
struct ExpiredFiles {
  RunId run_id{};
  std::string root;  // the run root
  std::uint64_t bytes = 0;
};

// Something that is old enough, but is still needed.
struct KeptFiles {
  RunId run_id{};
  std::string what;    // a path, or a branch and its repository
  std::string reason;  // a sentence without a full stop
};

// The size of one kind of files in the data directory.
struct StoredFiles {
  std::string name;  // of the folder
  std::uint64_t bytes = 0;
  std::uint64_t entries = 0;
};

struct FileRetentionReport {
  std::int64_t at_ns = 0;  // UTC, when it ended
  bool is_dry = false;     // nothing was removed; `removed` has what would be
  std::uint64_t runs_removed = 0;
  std::uint64_t artifacts_removed = 0;
  std::uint64_t bytes_removed = 0;
  std::uint64_t kept_total = 0;
  std::vector<ExpiredFiles> removed;  // at most file_retention_rows_max
  std::vector<KeptFiles> kept;        // likewise
  std::vector<StoredFiles> stored;    // what is there afterwards
  std::string error;                  // why the round ended early, or empty
};

}  // namespace signalbox
