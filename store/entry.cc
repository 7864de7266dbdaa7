#include "store/entry.h"

#include <span>
#include <utility>

#include "domain/check.h"
#include "domain/try.h"
#include "store/merkle_tree.h"

namespace signalbox {

StoreError damaged_at(Position position, std::string message) {
  StoreError error;
  error.kind = StoreError::Kind::damaged;
  error.message = std::move(message);
  error.position = position;
  return error;
}

StoreError no_such_position(Position position, Position tail) {
  StoreError error;
  error.kind = StoreError::Kind::not_found;
  error.message = "there is no record " + std::to_string(position) + ": the log ends at " +
                  std::to_string(tail);
  error.position = position;
  return error;
}

void check_numbering(Position expected_tail, std::span<const Commit> commits) {
  Position position = expected_tail;
  for (const Commit& commit : commits) {
    SIGNALBOX_CHECK(!commit.empty());
    for (const Record& record : commit) SIGNALBOX_CHECK(record.position == ++position);
  }
}

void encode_entry(const Commit& commit, const RandomSource& random, Sha256& sha256,
                  MerkleFrontier& frontier, std::string& out) {
  for (const Record& record : commit) {
    Salt salt;
    random(salt);
    append_leaf(frontier, leaf_hash(encode_record(record, salt, out), sha256), sha256);
  }
}

Stored<EntryEnd> scan_entry(std::string_view entry, Position first, Position from, Position to,
                            Record& record, const EventLog::Visit& visit) {
  bool wanted = true;
  auto end = for_each_frame(entry, first, [&](const Frame& frame) -> Stored<bool> {
    if (frame.position < from) return true;
    if (frame.position > to || !wanted) return false;
    TRY(decode_frame(frame, record));
    // Returning false stops the walk only at the next record: this one was already visited.
    wanted = visit(std::move(record));
    return true;
  });
  if (end && !wanted) end->stopped = true;
  return end;
}

Stored<EntryEnd> append_leaves(std::string_view entry, Position first, Position from, Position to,
                               Sha256& sha256, MerkleFrontier& frontier,
                               RedactionLedger& redactions) {
  return for_each_frame(entry, first, [&](const Frame& frame) -> Stored<bool> {
    if (frame.position > to) return false;
    if (frame.position < from) return true;
    append_leaf(frontier, leaf_hash(frame, sha256), sha256);
    TRY(redactions.note(frame));
    return true;
  });
}

Stored<Commit> decode_entry(std::string_view entry, Position first) {
  Commit commit;
  TRY(for_each_frame(entry, first, [&](const Frame& frame) -> Stored<bool> {
    TRY(decode_frame(frame, commit.emplace_back()));
    return true;
  }));
  return commit;
}

}  // namespace signalbox
