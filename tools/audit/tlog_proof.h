// A proof that a record is in a log, as a file of its own (c2sp.org/tlog-proof): which entry, the
// way from its hash to the tree's root, and the signed checkpoint of that. The entry itself, a
// record's header and the salted digest of its payload, is its extra data.
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
  std::uint64_t index = 0;  // of the entry, counted from 0
  std::vector<Digest> hashes;
  std::string checkpoint;

  friend bool operator==(const TlogProof&, const TlogProof&) = default;
};

inline constexpr std::string_view proof_title = "c2sp.org/tlog-proof@v1\n";
inline constexpr std::size_t proof_bytes_max = 1024 * 1024;

std::string proof_text(const TlogProof& proof);
// Nothing unless proof_text() gives this text.
std::optional<TlogProof> parse_proof(std::string_view text);

// What a leaf is the hash of.
std::string entry_of(const Frame& frame);

// Of the record at `position` in the tree of the first `size` records.
Called<TlogProof> prove_position(const AuditLog& log, Position position, Position size,
                                 const std::vector<NoteSigner>& signers);

// What a proof that holds says.
struct ProvenRecord {
  TreeHead head;
  Record record;  // without its event: only what its header has
  EventTag tag{};
};
// `damaged`: what doesn't hold.
Stored<ProvenRecord> check_proof(std::string_view text, std::span<const NoteVerifier> trusted);

}  // namespace signalbox
