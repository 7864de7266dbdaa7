// An event log that can be a replica of another one: it takes that one's entries as they are.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "store/redactable_log.h"

namespace signalbox {

class ReplicaLog : public RedactableLog {
 public:
  // Appends entries as another log has them, byte for byte, as one atomic write. They lead from
  // expected_tail to `next`, the tree over the log after them, which the caller has computed from
  // them or encoded with them. Doesn't wait for the disk: a crash of the machine may take entries
  // of the last second, which the other log has. After `unknown` the log may have them, and shall
  // not be read on. Otherwise as append(). A HistoryDropped among them is due from then on: the
  // same write notes it.
  virtual AppendResult append_entries(Position expected_tail,
                                      std::span<const std::string_view> entries,
                                      MerkleFrontier next) = 0;

  // Returns the positions of those HistoryDropped, ascending, which append_entries() has taken and
  // whose records are still there. Any thread.
  [[nodiscard]] virtual std::vector<Position> due_drops() const = 0;
  // Drops the records that the first due HistoryDropped names, as one atomic and durable step. As
  // commit_drop(), but its event is in the log already. Fails with `damaged`, and changes nothing,
  // if the event's root or base is another one; with `full`; and with `io`, after which append() is
  // as after a failed append. On the appending thread.
  virtual Stored<void> commit_due_drop(const StagedDrop& staged) = 0;

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
