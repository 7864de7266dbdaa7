// An event log that can be a replica of another one: it takes that one's entries as they are.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/redactable_log.h"

namespace signalbox {

// What entries that a replica takes have to do with redactions.
struct EntryRedactions {
  bool has_event = false;  // one of them is a PayloadRedacted
  // What replaces the payload that the PayloadRedacted among them erased, as its link has it
  // (LinkParts); empty for nothing.
  std::string_view replacement;
  std::vector<Position> redacted;  // the records among them whose payloads were replaced already
  // The base without the texts that the PayloadRedacted among them erased, if the record was kept
  // before the horizon; nullptr: the base stays. The HistoryDropped at `renewed_at`, one of them,
  // records it, and no drop before it is due any more. 0: nothing records it, and it serves until
  // what is due is made; something is.
  const StagedDrop* base = nullptr;
  Position renewed_at = 0;

  [[nodiscard]] bool are_there() const { return has_event || !redacted.empty(); }
};

// The redactions that a replica isn't done with.
struct PendingRedactions {
  // The positions of PayloadRedacted, ascending, which settle_redactions() wasn't called for.
  std::vector<Position> due;
  // The records, ascending, whose payloads were replaced for an event that isn't here yet: the
  // other log has erased them since. Their texts are proven only once it is.
  std::vector<Position> awaited;
  Position latest = 0;  // the latest PayloadRedacted that append_entries() has taken
  // Files may have replaced payloads.
  bool is_erasing = false;
};

// The entries that a replica has, for follow_redactions().
struct ReplicaEntries {
  struct Entry {
    Position first = 0;
    std::string bytes;
  };

  const Horizon& horizon;
  std::function<Stored<Entry>(Position position)> entry_of;  // that has the record
  std::function<Stored<void>(const Entry& entry)> replace;   // the one that begins there
};

// Returns what is pending once a replica has taken `entries`, where `pending` was before, and has
// the entry with the payload that they redact replaced. Fails with `damaged`, and as `replica`.
Stored<PendingRedactions> follow_redactions(PendingRedactions pending,
                                            std::span<const std::string_view> entries,
                                            const EntryRedactions& redactions,
                                            const ReplicaEntries& replica);

class ReplicaLog : public RedactableLog {
 public:
  // Appends entries as another log has them, byte for byte, as one atomic write. They lead from
  // expected_tail to `next`, the tree over the log after them, which the caller has computed from
  // them or encoded with them. Doesn't wait for the disk: a crash of the machine may take entries
  // of the last second, which the other log has. After `unknown` the log may have them, and shall
  // not be read on. Otherwise as append(). A HistoryDropped among them is due from then on: the
  // same write notes it. For a PayloadRedacted, of which they have one at most, the same write
  // replaces the payload, and the base if another one is given, and notes it as due.
  virtual AppendResult append_entries(Position expected_tail,
                                      std::span<const std::string_view> entries,
                                      MerkleFrontier next, const EntryRedactions& redactions) = 0;

  // Returns the redactions that append_entries() has begun and that aren't done. Any thread.
  [[nodiscard]] virtual PendingRedactions pending_redactions() const = 0;
  // Forgets those that are due and recorded at `through` or before: nothing of them is left
  // anywhere. Errors as begin_erasure(). On the appending thread.
  virtual Stored<void> settle_redactions(Position through) = 0;

  // Returns the positions of those HistoryDropped, ascending, which append_entries() has taken and
  // whose records are still there. Any thread.
  [[nodiscard]] virtual std::vector<Position> due_drops() const = 0;
  // Drops the records that the due HistoryDropped at `dropped_at` names, as one atomic and
  // durable step, after which those before it aren't due any more either. As commit_drop(), but its
  // event is in the log already. Fails with `damaged`, and changes nothing, if the event's root or
  // base is another one; with `rebuilding` if it isn't due any more; with `full`; and with `io`,
  // after which append() is as after a failed append. On the appending thread.
  virtual Stored<void> commit_due_drop(const StagedDrop& staged, Position dropped_at) = 0;

  // Makes everything that append_entries() has taken durable. Fails with `full` and `io` as a
  // write. On the appending thread.
  virtual Stored<void> sync() = 0;
  // Returns the last position that is known to be durable. Any thread.
  [[nodiscard]] virtual Position synced() const = 0;

  // Returns for how long the next write must be expected to find no space, since one found none: 0
  // if none did. The longer, the more writes found none lately, so that a quota, which shows itself
  // only in writes, isn't tried again and again. Any thread.
  [[nodiscard]] virtual std::chrono::milliseconds full_for() const = 0;

  // Like scan(), but passes each entry that begins at `from` or later as its bytes, and where it
  // begins; the view lasts until the visitor returns.
  using VisitEntryBytes = std::function<bool(std::string_view entry, Position first)>;
  virtual Stored<Position> scan_entries(Position from, const VisitEntryBytes& visit) const = 0;
};

}  // namespace signalbox
