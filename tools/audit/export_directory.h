// The directory of an export: checks that it may be written, and completes it atomically. Its lock
// is held meanwhile, so that one command at a time changes it.
//
// A file `incomplete` exists while an export is in progress. The manifest defines the export and is
// replaced last: files that it doesn't name aren't part of it. After a crash, the next export of
// the same log into the directory removes unnamed files and continues at the end of the manifest.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "store/directory_lock.h"
#include "store/file_descriptor.h"
#include "store/signed_note.h"
#include "tools/audit/export_manifest.h"
#include "tools/cli/call_error.h"

namespace signalbox {

struct ExportDirectory {
  std::filesystem::path path;
  std::optional<ExportManifest> present;  // of the export that is continued
  DirectoryLock lock;

  // Creates the directory, or opens one that is empty or has an export (even an interrupted one) of
  // this format, log and key. For any other, returns a usage error without changing it; fails with
  // IN_USE while another command changes it.
  static Called<ExportDirectory> take(const std::filesystem::path& path, ExportFormat format,
                                      const std::vector<NoteSigner>& signers);

  // Syncs all written files, then replaces the notes: the export is complete when this returns.
  Called<void> finish(const ExportManifest& manifest, const std::vector<NoteSigner>& signers) const;
};

// Returns whether the directory has nothing but what an export that was interrupted left.
bool is_unfinished_export(const std::filesystem::path& path);

// A file of an export that is being written.
class ExportFile {
 public:
  static Called<ExportFile> create(const std::filesystem::path& path);

  Called<void> write(std::string_view bytes);
  // Starts writing the bytes to the disk without waiting; ExportDirectory::finish() waits.
  void flush();

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
};

// Syncs `part` and renames it to `file`, which it replaces.
Called<void> place_file(const std::filesystem::path& part, const std::filesystem::path& file);

// Both notes of an export.
struct ExportNotes {
  ExportManifest manifest;
  std::string checkpoint;  // the note itself
};
// Reads both notes, checks their signatures with the trusted keys and that they describe the same
// tree. Else fails with `damaged` and the file's name.
Stored<ExportNotes> read_export_notes(const std::filesystem::path& directory,
                                      std::span<const NoteVerifier> trusted);

}  // namespace signalbox
