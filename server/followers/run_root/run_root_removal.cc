#include "server/followers/run_root/run_root_removal.h"

#include <set>

#include "server/followers/run_root/run_root_disk.h"

namespace signalbox {

namespace fs = std::filesystem;

RemovedRunFiles remove_run_files(const RunFiles::Rendered& rendered, const fs::path& data,
                                 const RunRootRule* rule, bool is_dry) {
  RemovedRunFiles removed;
  if (const auto place = require_writable_place(data, rendered.root); !place) {
    removed.error = place.error().message;
    return removed;
  }
  std::set<fs::path> directories;
  for (const FileChange& change : rendered.changes) {
    if (change.kind != FileChange::Kind::write) continue;
    const auto found = remove_written_file(change, rule, is_dry);
    if (!found) {
      removed.error = found.error().message;
    } else if (*found == WrittenFile::changed) {
      removed.changed.push_back((fs::path(change.root) / change.path).string());
    } else if (*found == WrittenFile::same) {
      removed.bytes += change.bytes.size();
      directories.insert(fs::path(change.path).parent_path());
    }
  }
  if (is_dry) return removed;
  for (const fs::path& each : directories) remove_empty_directories(rendered.root, each, rule);
  return removed;
}

}  // namespace signalbox
