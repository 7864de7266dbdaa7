// Payloads that were erased: how another one takes the place of one in its entry, and what vouches
// for it.
//
// The tree has of a payload only its salted digest. That stays in the frame, so every proof still
// holds; but of what lies in the payload's place the tree knows nothing. The latest PayloadRedacted
// of the record has its digest, and that event lies in the tree: what it doesn't vouch for is
// damage.
#pragma once

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
  Digest payload_digest;      // of what is gone, salted
  Digest replacement_digest;  // of what is there now, salted as well
};

// The entry, which begins at `first`, with another payload for the record at `position`.
Stored<RedactedEntry> redact_entry(std::string_view entry, Position first, Position position,
                                   const Event& replacement, const Salt& salt);

// Whether it isn't too large to take the place of the frame's payload. One whose texts are blanked
// as short as can be always fits: what is older gains less by its newer version.
bool fits_as_replacement(const Frame& frame, const Event& replacement);

// Sets the digests of the PayloadRedacted in `note`.
void set_digests(Record& note, const RedactedEntry& redacted);

// What one walk over records met of redacted ones and of PayloadRedacted events.
class RedactionLedger {
 public:
  struct Digests {
    Digest payload;
    Digest replacement;

    friend bool operator==(const Digests&, const Digests&) = default;
  };

  // Whether note() has to do with a record.
  static bool concerns(const Frame& frame) {
    return frame.redacted() || frame.number == PayloadRedacted::tag.number;
  }
  // Of any other record it costs two comparisons. `damaged` for an event that isn't one.
  Stored<void> note(const Frame& frame) {
    return concerns(frame) ? note_rare(frame) : Stored<void>();
  }

  // The records that events speak of and that weren't met, being before `from`.
  [[nodiscard]] std::vector<Position> unmet_before(Position from) const;
  // Whether a redacted record was met and no event of it.
  [[nodiscard]] bool lacks_event() const;

  // Events that speak of this record are held against nothing: it was dropped.
  void forget(Position position) { told_.erase(position); }

  // Of a walk that met all of them: `damaged` where a replacement isn't the one that the latest
  // event tells of, or where an erased payload is there again.
  [[nodiscard]] Stored<void> check_log() const;

  // Of a walk over copies, some of which may be from before the redaction: what doesn't fit, by
  // position. A redacted record whose event wasn't met isn't held against anything.
  [[nodiscard]] std::map<Position, std::string> check_copies() const;

 private:
  Stored<void> note_rare(const Frame& frame);
  // nullopt where they fit.
  [[nodiscard]] std::optional<std::string> wrong_with(Position position) const;

  std::map<Position, Digests> told_;      // by the latest event, by the record that it is about
  std::map<Position, Digests> redacted_;  // as they lie there
};

}  // namespace signalbox
