#include "tools/audit/tlog_proof.h"

#include <algorithm>
#include <charconv>

#include "domain/try.h"
#include "server/engine/dropped_history.h"
#include "store/base64.h"
#include "store/codec.h"
#include "store/merkle_proof.h"
#include "tools/audit/leaf_scan.h"

namespace signalbox {
namespace {

constexpr std::size_t proof_hashes_max = 64;

tl::unexpected<StoreError> doesnt_hold(std::string what) {
  return store_failure(StoreError::Kind::damaged, std::move(what));
}

}  // namespace

std::string proof_text(const TlogProof& proof) {
  std::string text(proof_title);
  if (proof.extra) text += "extra " + to_base64(*proof.extra) + "\n";
  text += "index " + std::to_string(proof.index) + "\n";
  for (const Digest& hash : proof.hashes) text += to_base64(raw_bytes(hash)) + "\n";
  return text + "\n" + proof.checkpoint;
}

std::optional<TlogProof> parse_proof(std::string_view text) {
  std::string_view left = text;
  const auto line = [&left] {
    const std::size_t end = left.find('\n');
    const std::string_view taken = left.substr(0, end);
    left.remove_prefix(end == std::string_view::npos ? left.size() : end + 1);
    return taken;
  };
  if (!left.starts_with(proof_title)) return std::nullopt;
  left.remove_prefix(proof_title.size());
  TlogProof proof;
  std::string_view next = line();
  if (next.starts_with("extra ")) {
    proof.extra = from_base64(next.substr(6));
    if (!proof.extra) return std::nullopt;
    next = line();
  }
  if (!next.starts_with("index ")) return std::nullopt;
  std::from_chars(next.data() + 6, next.data() + next.size(), proof.index);
  while (!(next = line()).empty()) {
    const auto hash = from_base64(next);
    if (!hash || hash->size() != sizeof(Digest) || proof.hashes.size() == proof_hashes_max) {
      return std::nullopt;
    }
    std::copy(hash->begin(), hash->end(), proof.hashes.emplace_back().bytes.begin());
  }
  proof.checkpoint = left;
  if (proof_text(proof) != text) return std::nullopt;
  return proof;
}

std::string entry_of(const Frame& frame) {
  Sha256 hashing;
  return std::string(frame.header).append(raw_bytes(payload_digest(frame, hashing)));
}

Called<TlogProof> prove_position(const AuditLog& log, Position position, Position size,
                                 const std::vector<NoteSigner>& signers) {
  TlogProof proof;
  proof.index = position - 1;
  SparseTree tree;
  Sha256 sha256;
  LeafScan scan;
  scan.to = size;
  scan.render_from = position;
  scan.make_renderer = [position]() -> RenderLeaf {
    return [position](const Frame& frame, const Digest&, LeafChunk& chunk) -> Stored<void> {
      if (frame.position == position) chunk.text = entry_of(frame);
      return {};
    };
  };
  scan.take_group = [&](const LeafGroup& group) {
    if (group.is_root) return tree.add_tile(group.hashes.front());
    const bool wanted = group.number == proof.index / SparseTree::tile_leaves;
    for (const Digest& leaf : group.hashes) tree.add(leaf, wanted, sha256);
  };
  scan.take = [&](LeafChunk& chunk, const MerkleFrontier&) -> Called<void> {
    for (const Digest& leaf : chunk.leaves) {
      const std::uint64_t tile = tree.leaves() / SparseTree::tile_leaves;
      tree.add(leaf, tile == proof.index / SparseTree::tile_leaves, sha256);
    }
    if (chunk.first <= position && position <= chunk.last()) proof.extra = chunk.text;
    return {};
  };
  if (const Horizon horizon = log.log->horizon(); position <= horizon.position) {
    if (horizon.first_dropped(position, position)) {
      return tl::unexpected(from_rejection(history_dropped(*log.log, position)));
    }
    auto read = log.log->scan_frames(position, position, [&proof](const Frame& frame) {
      proof.extra = entry_of(frame);
      return true;
    });
    if (!read) return tl::unexpected(from_store_error(read.error()));
  }
  TRY(scan_leaves(log, scan));
  proof.hashes = tree.proof(proof.index, sha256);
  const TreeHead head{signers.front().verifier().name, size, tree.root(sha256)};
  proof.checkpoint = sign_note(tree_head_text(head), signers);
  return proof;
}

Stored<ProvenRecord> check_proof(std::string_view text, std::span<const NoteVerifier> trusted) {
  const auto proof = parse_proof(text);
  if (!proof) return doesnt_hold("it isn't a proof");
  auto head = open_tree_head(proof->checkpoint, trusted);
  if (!head) return doesnt_hold("its checkpoint: " + head.error().message);
  if (!proof->extra || proof->extra->size() <= sizeof(Digest)) {
    return doesnt_hold("its extra data isn't the record that it is about");
  }
  Sha256 sha256;
  const Digest leaf = sha256.update(std::string_view("\0", 1)).update(*proof->extra).finish();
  if (!proves_inclusion(leaf, proof->index, head->size, proof->hashes, head->root, sha256)) {
    return doesnt_hold("its record isn't in the tree that the checkpoint signs, at index " +
                       std::to_string(proof->index));
  }
  const std::string_view entry = *proof->extra;
  std::string bytes;
  append_frame(entry.substr(0, entry.size() - sizeof(Digest)),
               entry.substr(entry.size() - sizeof(Digest)), bytes);
  const auto frame = parse_frame(bytes);
  if (!frame) return doesnt_hold(frame.error().message);
  if (frame->position != proof->index + 1) {
    return doesnt_hold("its record says that it is number " + std::to_string(frame->position));
  }
  ProvenRecord proven;
  proven.head = *std::move(head);
  proven.record = header_of(*frame);
  proven.tag = {frame->number, frame->version, "?"};
  const auto tags = event_tags();
  const auto tag = std::find_if(tags.begin(), tags.end(),
                                [&](const EventTag& each) { return each.number == frame->number; });
  if (tag != tags.end()) proven.tag.name = tag->name;
  return proven;
}

}  // namespace signalbox
