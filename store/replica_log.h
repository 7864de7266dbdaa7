// An event log that can be a replica of another one: it takes that one's entries as they are.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string_view>

#include "store/redactable_log.h"

namespace signalbox {

class ReplicaLog : public RedactableLog {
 public:
  // Appends entries as another log has them, byte for byte, as one atomic write. They lead from
  // expected_tail to `next`, the tree over the log after them, which the caller has computed from
  // them or encoded with them. Doesn't wait for the disk: a crash of the machine may take entries
  // of the last second, which the other log has. After `unknown` the log may have them, and shall
  // not be read on. Otherwise as append().
  virtual AppendResult append_entries(Position expected_tail,
                                      std::span<const std::string_view> entries,
                                      MerkleFrontier next) = 0;

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
