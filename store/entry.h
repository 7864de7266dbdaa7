// An entry of the log: the framed records of one command, concatenated. Both log implementations
// store entries and read records with these functions.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "domain/try.h"
#include "store/event_log.h"
#include "store/frame.h"
#include "store/random_source.h"
#include "store/redaction.h"

namespace signalbox {

// Appends the entry of `commit` to `out` and its leaves to `frontier`. Salts come from `random`.
void encode_entry(const Commit& commit, const RandomSource& random, Sha256& sha256,
                  MerkleFrontier& frontier, std::string& out);

// The end of a walk over the records of an entry.
struct EntryEnd {
  Position next = 0;     // position after the last record that was visited
  bool stopped = false;  // the walk ended before the end of the entry
};

// Calls `visit(const Frame&) → Stored<bool>` for each record of an entry whose first position is
// `first`, until it returns false or an error. Checks every frame and its position before the
// visit; fails with `damaged` or `unsupported`.
template <class Visit>
Stored<EntryEnd> for_each_frame(std::string_view entry, Position first, Visit&& visit);

// Passes the records from … to of an entry to `visit`. The result is `stopped` if the visitor
// returned false or if records after `to` are left. Decodes each record into `record`, whose
// strings keep their memory from one to the next unless the visitor moves from it.
Stored<EntryEnd> scan_entry(std::string_view entry, Position first, Position from, Position to,
                            Record& record, const EventLog::Visit& visit);

// Appends the leaves of the records from … to to `frontier`, and notes those that concern redaction
// in `redactions`.
Stored<EntryEnd> append_leaves(std::string_view entry, Position first, Position from, Position to,
                               Sha256& sha256, MerkleFrontier& frontier,
                               RedactionLedger& redactions);

// Decodes all records of an entry.
Stored<Commit> decode_entry(std::string_view entry, Position first);

// Checks the precondition of EventLog::append: no commit is empty, and the records are numbered
// consecutively from expected_tail + 1. A violation aborts the process.
void check_numbering(Position expected_tail, std::span<const Commit> commits);

// Return errors of kind `damaged` and `not_found` for a record.
StoreError damaged_at(Position position, std::string message);
StoreError no_such_position(Position position, Position tail);

// ---

template <class Visit>
Stored<EntryEnd> for_each_frame(std::string_view entry, Position first, Visit&& visit) {
  if (entry.empty()) return tl::unexpected(damaged_at(first, "an entry of the log is empty"));
  EntryEnd end{first, false};
  while (!entry.empty()) {
    auto frame = parse_frame(entry);
    if (!frame) {
      frame.error().position = end.next;
      return tl::unexpected(std::move(frame.error()));
    }
    if (frame->position != end.next) {
      return tl::unexpected(
          damaged_at(end.next, "a record lies where another one belongs: it says it is number " +
                                   std::to_string(frame->position)));
    }
    const std::size_t bytes = frame->bytes;
    if (!TRY(visit(*frame))) {
      end.stopped = true;
      return end;
    }
    entry.remove_prefix(bytes);
    ++end.next;
  }
  return end;
}

}  // namespace signalbox
