// Reads and writes the keys of an audit, from files and command line arguments.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "store/signed_note.h"
#include "tools/cli/call_error.h"

namespace signalbox {

// Generates a key and writes its private key to `file`, with mode 0600; the file must not exist.
// Returns the public half.
Called<NoteVerifier> make_key_file(const std::filesystem::path& file, const std::string& name);

// Reads private keys that make_key_file() wrote. A usage error if they have different names or
// there are none.
Called<std::vector<NoteSigner>> read_signers(const std::vector<std::string>& files);

// Parses verifier keys: each is `NAME+ID+KEY`, or `@file` that holds one.
Called<std::vector<NoteVerifier>> read_verifiers(const std::vector<std::string>& words);

// Returns the verifier keys of the signers.
std::vector<NoteVerifier> verifiers_of(const std::vector<NoteSigner>& signers);

}  // namespace signalbox
