// A proof that a record is in a log, as a separate file (c2sp.org/tlog-proof): the entry's index,
// the inclusion proof from its hash to the tree's root, and the signed checkpoint of that root. The
// extra data is the entry itself: the record's header and the salted digest of its payload.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/frame.h"
#include "store/signed_note.h"
#include "store/tree_head.h"
#include "tools/audit/audit_log.h"
#include "tools/cli/call_error.h"

namespace signalbox {

struct TlogProof {
  std::optional<std::string> extra;
  std::uint64_t index = 0;  // of the entry, from 0
  std::vector<Digest> hashes;
  std::string checkpoint;

  friend bool operator==(const TlogProof&, const TlogProof&) = default;
};

inline constexpr std::string_view proof_title = "c2sp.org/tlog-proof@v1\n";
inline constexpr std::size_t proof_bytes_max = 1024 * 1024;

// Returns the text of the file.
std::string proof_text(const TlogProof& proof);
// Parses a file; returns nothing for any text that proof_text() wouldn't return.
std::optional<TlogProof> parse_proof(std::string_view text);

// Returns the entry of a record, the input of its leaf's hash.
std::string entry_of(const Frame& frame);

// Proves that the record at `position` is in the tree of the first `size` records, and signs the
// checkpoint. Scans the log. Fails with HISTORY_DROPPED if the record was dropped.
Called<TlogProof> prove_position(const AuditLog& log, Position position, Position size,
                                 const std::vector<NoteSigner>& signers);

// The content of a valid proof.
struct ProvenRecord {
  TreeHead head;
  Record record;  // without its event: only what its header has
  EventTag tag{};
};
// Verifies a proof; fails with `damaged` and the reason.
Stored<ProvenRecord> check_proof(std::string_view text, std::span<const NoteVerifier> trusted);

}  // namespace signalbox
