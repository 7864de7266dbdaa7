// Erasing payloads: replacing one in its entry, and checking replacements against the events that
// authenticate them.
//
// The tree covers only the salted digest of a payload. The digest stays in the frame, so every
// proof still holds, but the tree doesn't cover the replacement. The latest PayloadRedacted of the
// record has the replacement's digest, and that event is covered by the tree. A replacement that
// doesn't match it is damage.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/event.h"
#include "store/frame.h"
#include "store/store_error.h"

namespace signalbox {

struct RedactedEntry {
  std::string bytes;
  Digest payload_digest;      // salted digest of the erased payload
  Digest replacement_digest;  // digest of the replacement, which is salted as well
};

// Returns the entry, which begins at `first`, with the payload of the record at `position`
// replaced. Fails with `damaged` if the entry can't be read or doesn't have the record.
Stored<RedactedEntry> redact_entry(std::string_view entry, Position first, Position position,
                                   const Event& replacement, const Salt& salt);

// Returns the entry, which begins at `first`, with the payload of the record at `position` replaced
// by `replacement`, as another log has it (Frame::replacement). Fails with `damaged` as
// redact_entry().
Stored<std::string> replace_payload(std::string_view entry, Position first, Position position,
                                    std::string_view replacement);

// What an event about a redaction makes of an entry that another log has redacted.
struct FollowedRedaction {
  // The record has another payload than the event says, and isn't given that one: a later redaction
  // of it erased that, too.
  bool is_awaited = false;
  std::string entry;  // in its new form; empty: it stays as it is
};

// Applies the event to the entry, which begins at `first` and has the record that it names.
// `replacement` is what came with the event; empty for nothing. Fails with `damaged` if the entry
// can't be read, or the event is about another payload.
Stored<FollowedRedaction> apply_redaction(std::string_view entry, Position first,
                                          const PayloadRedacted& event,
                                          std::string_view replacement);

// Returns whether `replacement` isn't too large to replace the frame's payload. An event whose
// texts were blanked to the minimum always fits: conversion from an older version adds less than
// that saves.
bool fits_as_replacement(const Frame& frame, const Event& replacement);

// Sets the digests of the PayloadRedacted event in `note`.
void set_digests(Record& note, const RedactedEntry& redacted);

// Collects the redacted records and the PayloadRedacted events of a walk over records, and checks
// that they match.
class RedactionLedger {
 public:
  struct Digests {
    Digest payload;
    Digest replacement;

    friend bool operator==(const Digests&, const Digests&) = default;
  };

  // Returns whether note() has to process a record.
  static bool concerns(const Frame& frame) {
    return frame.redacted() || frame.number == PayloadRedacted::tag.number;
  }
  // Notes a record, each once, in any order. Any record that isn't concerned costs two comparisons.
  // Fails with `damaged` for a PayloadRedacted event that names no earlier record.
  Stored<void> note(const Frame& frame) {
    return concerns(frame) ? note_rare(frame) : Stored<void>();
  }

  // Returns the positions before `from` that events say were redacted and that weren't noted as
  // redacted.
  [[nodiscard]] std::vector<Position> missing_before(Position from) const;
  // Returns whether a redacted record was noted without the event that tells of its replacement, or
  // with a later one.
  [[nodiscard]] bool lacks_event() const;
  // Returns the redacted records that were noted and of whose replacement no noted event tells.
  [[nodiscard]] std::vector<Position> untold() const;

  // Excludes a record that was dropped from the checks, so that events about it are ignored.
  void forget(Position position) { from_events_.erase(position); }
  // Excludes a record whose payload was replaced for an event that a replica doesn't have yet.
  void await(Position position) {
    from_events_.erase(position);
    from_records_.erase(position);
  }

  // Checks a walk that noted all records concerned. Fails with `damaged` if a replacement isn't the
  // one in the latest event about it, or if a payload that was erased is there again.
  [[nodiscard]] Stored<void> check_log() const;

  // An event about a record, as it was noted.
  struct Told {
    Position position = 0;  // of the event
    Digests digests;
  };

  // Returns the latest noted event about each record, by the record's position.
  [[nodiscard]] std::map<Position, Told> latest_events() const;
  // Returns the digests of the redacted record that was noted at this position; nullopt: none was.
  [[nodiscard]] std::optional<Digests> redacted_at(Position position) const;

  // Checks a walk over copies, each of which may be older than any redaction of it. Returns the
  // mismatches by position. A redacted record without a noted event isn't checked.
  [[nodiscard]] std::map<Position, std::string> check_copies() const;

  // Returns whether a noted event about the record tells of this replacement.
  [[nodiscard]] bool is_told(Position position, const Digests& digests) const;

 private:
  Stored<void> note_rare(const Frame& frame);
  // Returns a description of the mismatch; nullopt if record and event match.
  [[nodiscard]] std::optional<std::string> mismatch_at(Position position) const;

  // From the events about each record in their order, by the record's position.
  std::map<Position, std::vector<Told>> from_events_;
  std::map<Position, Digests> from_records_;  // from the redacted records themselves
};

// What an erasure of replaced payloads works on (rocks_erasure.cc).
struct Erasure {
  std::string keys;  // of the replaced entries, concatenated; empty: there is nothing to erase
  std::vector<std::filesystem::path> files;  // those that may hold the replaced bytes
};

}  // namespace signalbox
