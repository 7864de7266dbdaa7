#include "server/followers/run_root/run_root_rebuild.h"

#include <map>
#include <utility>

#include "domain/try.h"
#include "server/followers/run_root/run_root_disk.h"
#include "server/followers/run_root/run_root_place.h"

namespace signalbox {
namespace {

RebuiltFile::Found compare_with_disk(const FileChange& change, const RunRootRule* rule) {
  const auto found = remove_written_file(change, rule, /*is_dry=*/true);
  if (!found) return RebuiltFile::Found::different;
  switch (*found) {
    case WrittenFile::missing:
      return RebuiltFile::Found::missing;
    case WrittenFile::changed:
      return RebuiltFile::Found::different;
    case WrittenFile::same:
      return RebuiltFile::Found::same;
  }
  return RebuiltFile::Found::different;
}

}  // namespace

Stored<void> RunRootRebuild::advance(Position position) {
  auto run = TRY(run_files_.render(run_id_, position, /*only_if_wanted=*/false));
  if (!run) {
    return tl::unexpected(
        StoreError{StoreError::Kind::not_found, "there is no run " + to_string(run_id_), {}, 0});
  }
  if (applied_ == 0) {
    root_ = run->root;
    // A default root is new with the run. A named one may hold files of earlier records.
    applied_ = run->named_root ? 0 : run->started_position - 1;
  }
  run_changes_ = std::move(run->changes);
  const auto scanned = TRY(log_.scan(applied_ + 1, position, [this](Record&& record) {
    if (!RunRootProjection::concerns(record)) return true;
    for (FileChange& change : projection_.apply(record)) {
      if (change.root == root_) files_.add(std::move(change));
    }
    return true;
  }));
  applied_ = scanned;
  return {};
}

std::vector<RebuiltFile> RunRootRebuild::finish(bool write, const RunRootRule* rule) const {
  std::map<std::string, FileChange> files;
  for (const FileChange& change : run_changes_) files[change.path] = change;
  for (const auto& [key, entry] : files_.entries()) {
    if (entry.change.kind == FileChange::Kind::remove) continue;
    files[entry.change.path] = entry.change;
  }
  const std::string tag = temporary_tag(run_files_.runs());
  std::vector<RebuiltFile> rebuilt;
  for (auto& [path, change] : files) {
    change.kind = FileChange::Kind::write;  // a ledger as well: these are all of its rows
    RebuiltFile& file = rebuilt.emplace_back();
    file.path = path;
    file.found = compare_with_disk(change, rule);
    if (write && file.found != RebuiltFile::Found::same) {
      auto written = require_writable_place(run_files_.runs().parent_path(), change.root);
      if (written) written = apply_change(change, tag, rule);
      if (!written) file.error = written.error().message;
    }
    file.bytes = std::move(change.bytes);
  }
  return rebuilt;
}

}  // namespace signalbox
