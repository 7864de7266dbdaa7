#include "store/replica_log.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "domain/try.h"
#include "store/frame.h"

namespace signalbox {
namespace {

// Notes a record among those that are awaited.
void await_redaction(PendingRedactions& pending, Position position) {
  const auto place = std::ranges::lower_bound(pending.awaited, position);
  if (place != pending.awaited.end() && *place == position) return;
  pending.awaited.insert(place, position);
}

}  // namespace

// A redaction and the record that it is about may be in one link after a repair of the cell's log.
Stored<PendingRedactions> follow_redactions(PendingRedactions pending,
                                            std::span<const std::string_view> entries,
                                            const EntryRedactions& redactions,
                                            const ReplicaEntries& replica) {
  using Entry = ReplicaEntries::Entry;
  if (!redactions.are_there()) return pending;
  for (const Position each : redactions.redacted) await_redaction(pending, each);
  std::vector<Entry> taken;  // up to the one that is looked at
  for (const std::string_view bytes : entries) {
    const auto first = TRY(parse_frame(bytes));
    if (first.number != PayloadRedacted::tag.number) {
      taken.push_back({first.position, std::string(bytes)});
      continue;
    }
    Record note;
    TRY(decode_frame(first, note));
    const PayloadRedacted& event = *event_as<PayloadRedacted>(note.event);
    const Position position = event.redacted_position;
    pending.due.push_back(first.position);
    pending.latest = first.position;
    std::erase(pending.awaited, position);
    if (replica.horizon.first_dropped(position, position)) continue;
    const bool is_taken = !taken.empty() && taken.front().first <= position;
    const auto behind = std::ranges::upper_bound(taken, position, {}, &Entry::first);
    const Entry entry = is_taken ? *std::prev(behind) : TRY(replica.entry_of(position));
    auto applied = TRY(apply_redaction(entry.bytes, entry.first, event, redactions.replacement));
    if (applied.is_awaited) await_redaction(pending, position);
    if (applied.entry.empty()) continue;
    TRY(replica.replace({entry.first, std::move(applied.entry)}));
    pending.is_erasing = true;
  }
  return pending;
}

}  // namespace signalbox
