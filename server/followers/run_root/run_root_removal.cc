#include "server/followers/run_root/run_root_removal.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "domain/try.h"
#include "server/followers/run_root/run_root_disk.h"
#include "server/platform/atomic_file.h"
#include "store/file_descriptor.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// Removes the directory, which is relative to the root, and those around it, as far as they are
// empty. Others stay, so failures don't matter.
void remove_empty_directories(const fs::path& root, fs::path directory) {
  for (; !directory.empty(); directory = directory.parent_path()) {
    FileDescriptor around(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (const fs::path& part : directory.parent_path()) {
      around = FileDescriptor(
          ::openat(around.get(), part.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    }
    if (!around) return;
    if (::unlinkat(around.get(), directory.filename().c_str(), AT_REMOVEDIR) != 0) return;
  }
}

}  // namespace

Stored<RemovedRunFiles> remove_run_files(const RunFiles& run_files, const RunId& run_id,
                                         Position position, bool is_dry) {
  RemovedRunFiles removed;
  auto rendered = TRY(run_files.render(run_id, position, /*only_if_wanted=*/true));
  if (!rendered) return removed;
  const std::string tag = temporary_tag(run_files.runs());
  std::set<fs::path> directories;
  for (FileChange& change : rendered->changes) {
    if (change.kind != FileChange::Kind::write) continue;
    const fs::path path = fs::path(change.root) / change.path;
    const auto content = read_regular_file(path, change.bytes.size());  // a longer one was changed
    if (!content && content.error().kind == StoreError::Kind::not_found) continue;
    if (!content || *content != change.bytes) {
      removed.changed.push_back(path.string());
      continue;
    }
    removed.bytes += change.bytes.size();
    if (is_dry) continue;
    change.kind = FileChange::Kind::remove;
    if (const auto gone = apply_change(change, tag); !gone) {
      removed.error = gone.error().message;
      continue;
    }
    directories.insert(fs::path(change.path).parent_path());
  }
  for (const fs::path& each : directories) remove_empty_directories(rendered->root, each);
  return removed;
}

}  // namespace signalbox
