// The keys of an audit as files and words of a command line.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "store/signed_note.h"
#include "tools/cli/call_error.h"

namespace signalbox {

// Makes a key and writes its private half to `file`, mode 0600, which mustn't exist yet.
Called<NoteVerifier> make_key_file(const std::filesystem::path& file, const std::string& name);

// What make_key_file() wrote; all of one name. A usage error for none.
Called<std::vector<NoteSigner>> read_signers(const std::vector<std::string>& files);

// `NAME+ID+KEY` each, or `@file` that holds one.
Called<std::vector<NoteVerifier>> read_verifiers(const std::vector<std::string>& words);

// Those that belong to the signers.
std::vector<NoteVerifier> verifiers_of(const std::vector<NoteSigner>& signers);

}  // namespace signalbox
