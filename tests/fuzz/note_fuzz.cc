// Signed notes, checkpoints, keys and the texts of an export.
#include "store/signed_note.h"
#include "store/tile_path.h"
#include "store/tree_head.h"
#include "tests/fuzz/fuzz_target.h"
#include "tools/audit/export_manifest.h"
#include "tools/audit/tlog_proof.h"

namespace signalbox {

void fuzz_note(std::string_view input) {
  static const NoteSigner signer = NoteSigner::generate("log");
  const std::vector<NoteVerifier> trusted{signer.verifier()};
  // Nobody else can sign for the key.
  SIGNALBOX_CHECK(!open_note(input, trusted));
  SIGNALBOX_CHECK(!open_tree_head(input, trusted));
  SIGNALBOX_CHECK(!check_proof(input, trusted));
  if (const auto key = parse_verifier(input)) {
    SIGNALBOX_CHECK(parse_verifier(key->text()) == *key);
  }
  if (const auto head = parse_tree_head(input)) {
    SIGNALBOX_CHECK(tree_head_text(*head) == input);
    const auto opened = open_note(sign_note(input, {&signer, 1}), trusted);
    SIGNALBOX_CHECK(opened && opened->text == input);
  }
  if (const auto path = parse_tile_path(input)) SIGNALBOX_CHECK(tile_path(*path) == input);
  if (const auto proof = parse_proof(input)) {
    SIGNALBOX_CHECK(parse_proof(proof_text(*proof)) == *proof);
  }
  if (const auto manifest = parse_manifest(input)) {
    SIGNALBOX_CHECK(parse_manifest(manifest_text(*manifest)) == *manifest);
  }
}

}  // namespace signalbox
