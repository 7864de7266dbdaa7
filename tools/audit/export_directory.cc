#include "tools/audit/export_directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <set>

#include "domain/try.h"
#include "store/durable_file.h"
#include "store/file_descriptor.h"
#include "store/tile_path.h"
#include "store/tree_head.h"
#include "tools/audit/audit_keys.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// Returns whether the name is that of a file that an interrupted export may have left.
bool is_leftover(const std::string& name) {
  return name.starts_with("events-") || name.ends_with(".tmp");
}

// Removes tiles with more leaves than the tree of the present export has.
Called<void> remove_later_tiles(const ExportDirectory& directory) {
  const std::uint64_t leaves = directory.present ? directory.present->to : 0;
  std::error_code none;  // an error means that there are no tiles
  for (const auto& file : fs::recursive_directory_iterator(directory.path / "tile", none)) {
    if (!file.is_regular_file()) continue;
    const auto tile = parse_tile_path(file.path().lexically_relative(directory.path).string());
    if (tile && tile->number * tile_width + tile->width <= leaves >>
                    (tile_bits * tile->level.value_or(0))) {
      continue;
    }
    std::error_code failed;
    if (!fs::remove(file.path(), failed)) {
      return tl::unexpected(io_error("can't remove " + file.path().string()));
    }
  }
  return {};
}

Called<void> remove_leftovers(const ExportDirectory& directory) {
  std::set<std::string> named;
  if (directory.present) {
    for (const ExportSegment& segment : directory.present->segments) {
      named.insert(segment.lines_name());
      named.insert(segment.digests_name());
    }
  }
  std::error_code failed;
  for (const auto& file : fs::directory_iterator(directory.path, failed)) {
    const std::string name = file.path().filename().string();
    if (!is_leftover(name) || named.contains(name)) continue;
    std::error_code not_removed;
    fs::remove(file.path(), not_removed);
    if (not_removed) return tl::unexpected(io_error("can't remove " + file.path().string()));
  }
  if (failed) return tl::unexpected(io_error("can't read " + directory.path.string()));
  return remove_later_tiles(directory);
}

// Returns whether the directory is empty, except for the marker's temporary file, which a crash may
// leave.
bool is_unused(const fs::path& path) {
  std::error_code failed;
  for (const auto& file : fs::directory_iterator(path, failed)) {
    if (file.path().filename() != std::string(incomplete_name) + ".tmp") return false;
  }
  return !failed;
}

tl::unexpected<CallError> not_ours(const fs::path& path, const std::string& why) {
  return tl::unexpected(
      usage_error(path.string() + " can't be exported into: " + why + "; name another directory"));
}

}  // namespace

bool is_unfinished_export(const fs::path& path) {
  std::error_code failed;
  return fs::exists(path / incomplete_name, failed) || is_unused(path);
}

Called<ExportDirectory> ExportDirectory::take(const fs::path& path, ExportFormat format,
                                              const std::vector<NoteSigner>& signers) {
  ExportDirectory directory{path, {}, {}};
  std::error_code failed;
  fs::create_directories(path, failed);
  if (failed) {
    return tl::unexpected(io_error("can't create " + path.string() + ": " + failed.message()));
  }
  // The marker of an export that goes on looks like that of an interrupted one.
  directory.lock = TRY(called(DirectoryLock::take_directory(path)));
  const fs::path marker = path / incomplete_name;
  const bool interrupted = fs::exists(marker, failed);
  if (fs::exists(path / manifest_name, failed)) {
    const auto note = TRY(called(read_file(path / manifest_name, manifest_bytes_max)));
    const auto opened = open_note(note, verifiers_of(signers));
    if (!opened) {
      return not_ours(path, "its manifest isn't one of " + signers.front().verifier().label() +
                                ": " + opened.error().message);
    }
    directory.present = parse_manifest(opened->text);
    if (!directory.present) return not_ours(path, "its manifest isn't one of an export");
    if (directory.present->format != format ||
        directory.present->origin != signers.front().verifier().name) {
      return not_ours(path, "it is an export of " + directory.present->origin + " as " +
                                std::string(name_of(directory.present->format)));
    }
  } else if (!interrupted && !is_unused(path)) {
    return not_ours(path, "it isn't empty and no export");
  }
  TRY(called(replace_file(marker, std::string(name_of(format)) + "\n")));
  if (interrupted) {
    TRY(remove_leftovers(directory));
  }
  return directory;
}

Called<void> ExportDirectory::finish(const ExportManifest& manifest,
                                     const std::vector<NoteSigner>& signers) const {
  {
    // There may be many thousands of files: one syncfs() takes less time than syncing each.
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!file || ::syncfs(file.get()) != 0) {
      return tl::unexpected(from_store_error(system_error("sync", path)));
    }
  }
  const TreeHead head{manifest.origin, manifest.to, manifest.root};
  const auto put = [&](std::string_view name, const std::string& text) {
    return replace_file(path / name, sign_note(text, signers));
  };
  auto written = put(checkpoint_name, tree_head_text(head));
  if (written) written = put(manifest_name, manifest_text(manifest));
  if (written && ::unlink((path / incomplete_name).c_str()) != 0) {
    return tl::unexpected(from_store_error(system_error("remove", path / incomplete_name)));
  }
  if (written) written = sync_directory(path);
  if (written) written = sync_parent_directories(path);
  if (!written) return tl::unexpected(from_store_error(written.error()));
  return {};
}

Called<ExportFile> ExportFile::create(const fs::path& path) {
  ExportFile file;
  file.path_ = path;
  file.file_ = FileDescriptor(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.file_) return tl::unexpected(from_store_error(system_error("create", path)));
  return file;
}

Called<void> ExportFile::write(std::string_view bytes) {
  if (write_all(file_, bytes)) return {};
  return tl::unexpected(from_store_error(system_error("write", path_)));
}

void ExportFile::flush() {
  static_cast<void>(::sync_file_range(file_.get(), 0, 0, SYNC_FILE_RANGE_WRITE));
}

Called<void> place_file(const fs::path& part, const fs::path& file) {
  const FileDescriptor written(::open(part.c_str(), O_RDONLY | O_CLOEXEC));
  if (!written || ::fsync(written.get()) != 0) {
    return tl::unexpected(from_store_error(system_error("sync", part)));
  }
  if (::rename(part.c_str(), file.c_str()) != 0) {
    return tl::unexpected(from_store_error(system_error("rename", part)));
  }
  std::error_code ignored;
  TRY(called(sync_directory(fs::absolute(file, ignored).parent_path())));
  return {};
}

Stored<ExportNotes> read_export_notes(const fs::path& directory,
                                      std::span<const NoteVerifier> trusted) {
  ExportNotes notes;
  StoreError error;
  error.kind = StoreError::Kind::damaged;
  const auto wrong = [&](std::string_view name, std::string message) {
    error.file = name;
    error.message = std::move(message);
    return tl::unexpected(error);
  };
  const auto checkpoint = read_file(directory / checkpoint_name, checkpoint_bytes_max);
  if (!checkpoint) return wrong(checkpoint_name, checkpoint.error().message);
  const auto head = open_tree_head(*checkpoint, trusted);
  if (!head) return wrong(checkpoint_name, head.error().message);
  notes.checkpoint = *checkpoint;
  const auto note = read_file(directory / manifest_name, manifest_bytes_max);
  if (!note) return wrong(manifest_name, note.error().message);
  const auto opened = open_note(*note, trusted);
  if (!opened) return wrong(manifest_name, opened.error().message);
  auto manifest = parse_manifest(opened->text);
  if (!manifest) return wrong(manifest_name, "its text isn't that of an export's manifest");
  if (TreeHead{manifest->origin, manifest->to, manifest->root} != *head) {
    return wrong(manifest_name, "it is of the log " + manifest->origin + " up to " +
                                    std::to_string(manifest->to) + ", the checkpoint of " +
                                    head->origin + " up to " + std::to_string(head->size) +
                                    (manifest->to == head->size ? ", with another root" : ""));
  }
  notes.manifest = *std::move(manifest);
  return notes;
}

}  // namespace signalbox
