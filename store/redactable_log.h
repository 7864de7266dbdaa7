// An event log that erases payloads in steps, while others append to it and read it. A redaction
// that runs beside the service needs no more of a log than this.
#pragma once

#include <atomic>
#include <optional>

#include "store/droppable_log.h"
#include "store/frame.h"
#include "store/redaction.h"

namespace signalbox {

// A redaction that is ready to be committed. Its digests are those of the PayloadRedacted about it.
struct StagedRedaction {
  Position position = 0;  // of the record
  RedactedEntry redacted;
  Position entry_first = 0;  // of the entry that the record is in
  Digest replaced_sha256;    // of that entry as it was
  // In a cell, of a record that was kept before the horizon: the base without its texts, staged as
  // a drop that renews the base, with its parts stored.
  std::optional<StagedDrop> base = std::nullopt;
};

// The steps are stage_redaction(), commit_redaction(); then plan_erasure(), begin_erasure(),
// purge_replaced(), note_erased(). One redaction or drop at a time. It may be given up before
// commit_redaction(). After that an erasure that fails is repeated by the next one, or by the next
// opening.
class RedactableLog : public DroppableLog {
 public:
  // Reads the record's entry and returns what will replace it. `salt` must be random. Fails with
  // `not_found`, `dropped` and `damaged`. Any thread.
  [[nodiscard]] virtual Stored<StagedRedaction> stage_redaction(Position position,
                                                                const Event& replacement,
                                                                const Salt& salt) const = 0;
  // Like EventLog::redact(). `commit` is one record with a PayloadRedacted that has the digests of
  // `staged`; before it, if that has a base, another one with the HistoryDropped that renews it,
  // which becomes an entry of its own. On the appending thread.
  virtual Stored<AppendResult> commit_redaction(Position expected_tail, const Commit& commit,
                                                const StagedRedaction& staged) = 0;
  // Returns what is to be erased; no keys if that is nothing. Blocks while what is in memory is
  // written to files. Any thread.
  [[nodiscard]] virtual Stored<Erasure> plan_erasure() const = 0;
  // Writes what the erasure needs between its plan and its purge. On the appending thread. After an
  // error append() is as after a failed append.
  virtual Stored<void> begin_erasure() = 0;
  // Rewrites the files without the replaced payloads, and blocks until the old files are gone,
  // which walks that began before keep until they end. Fails with `io` soon after `canceled` is
  // set, and if the files aren't gone in time. Any thread.
  [[nodiscard]] virtual Stored<void> purge_replaced(const Erasure& erasure,
                                                    std::atomic<bool>* canceled) const = 0;
  // Notes that purge_replaced() succeeded. On the appending thread; errors as begin_erasure().
  virtual Stored<void> note_erased(const Erasure& erasure) = 0;
};

}  // namespace signalbox
