// `audit redact POSITION --archive DIR`: erases free texts of a record from an archive or another
// export as CloudEvents. The record's line gets a replacement in the payload's place, as in the
// log; the leaf stays, so the checkpoint does, and the manifest is signed anew with the digests of
// the new line.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "domain/free_text.h"
#include "store/signed_note.h"
#include "tools/cli/call_error.h"

namespace signalbox {

struct ArchiveRedaction {
  std::filesystem::path archive;
  Position position = 0;
  std::vector<std::string> fields;  // none: all free texts
  std::vector<NoteSigner> signers;
  // One of these, or of the signers, has signed the archive: it may be of before a key's rotation.
  std::vector<NoteVerifier> trusted;
  bool dry_run = false;
};

struct RedactedInArchive {
  std::string type;                 // of the record's event
  std::vector<std::string> fields;  // that were erased; none: nothing was left to erase
  std::vector<FoundText> erased;    // the texts themselves
};

// Erases the texts. A crash in between leaves an archive that doesn't verify until the same command
// has finished. Fails with IN_USE while another command changes the archive, with
// POSITION_NOT_FOUND, NOTHING_TO_REDACT, TAMPERED for an archive whose notes none of the signers
// signed or whose record isn't the one in its tree, and with usage errors. Blocks.
Called<RedactedInArchive> redact_in_archive(const ArchiveRedaction& request);

}  // namespace signalbox
