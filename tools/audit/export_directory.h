// The directory of an export: who may write into it, and how it becomes whole at once.
//
// While an export is under way there is a file `incomplete`. The manifest is what makes an export,
// and is replaced last: whatever it doesn't name isn't part of one. After a crash the next export
// of the same log into the directory takes away what lies there unnamed and begins again where the
// manifest ends.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "store/file_descriptor.h"
#include "store/signed_note.h"
#include "tools/audit/export_manifest.h"
#include "tools/cli/call_error.h"

namespace signalbox {

struct ExportDirectory {
  std::filesystem::path path;
  std::optional<ExportManifest> present;  // of the export that is continued

  // Creates the directory or takes the one that is there: empty, or an export (even an interrupted
  // one) of this format, log and key. Else a usage error; nothing was changed then.
  static Called<ExportDirectory> take(const std::filesystem::path& path, ExportFormat format,
                                      const std::vector<NoteSigner>& signers);

  // Syncs all files that were written, then puts the notes in place: from here on it is whole.
  Called<void> finish(const ExportManifest& manifest, const std::vector<NoteSigner>& signers) const;
};

// A file of an export that is being written.
class ExportFile {
 public:
  static Called<ExportFile> create(const std::filesystem::path& path);

  Called<void> write(std::string_view bytes);
  // Its bytes are on their way to the disk; finish() waits for them.
  void flush();

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
};

// Syncs `part` and gives it the name `file`, in place of what had it.
Called<void> place_file(const std::filesystem::path& part, const std::filesystem::path& file);

// Both notes of an export, opened with the trusted keys and found to say the same.
// `damaged` with the file's name in it, else.
struct ExportNotes {
  ExportManifest manifest;
  std::string checkpoint;  // the note itself
};
Stored<ExportNotes> read_export_notes(const std::filesystem::path& directory,
                                      std::span<const NoteVerifier> trusted);

}  // namespace signalbox
