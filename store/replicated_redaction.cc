// Redactions in a cell: how the writer records one, and how an erased text leaves the shared log.
#include <algorithm>
#include <utility>

#include "domain/check.h"
#include "domain/try.h"
#include "store/chain_erasure.h"
#include "store/entry.h"
#include "store/replicated_event_log.h"

namespace signalbox {
namespace {

// Returns what replaces the payload of the record at `position`, which an entry that begins at
// `first` has; empty if it has its own one.
Stored<std::string> replacement_in(std::string_view entry, Position first, Position position) {
  std::string replacement;
  TRY(for_each_frame(entry, first, [&](const Frame& frame) -> Stored<bool> {
    if (frame.position == position) replacement = frame.replacement;
    return frame.position < position;
  }));
  return replacement;
}

// Returns the entry of the link that has the record, and where it begins; an empty one if the link
// has none.
Stored<std::pair<std::string_view, Position>> entry_in(const LinkParts& parts, Position first,
                                                       Position position) {
  for (const std::string_view entry : parts.entries) {
    const auto end =
        TRY(for_each_frame(entry, first, [](const Frame&) -> Stored<bool> { return true; }));
    if (first <= position && position < end.next) return std::pair{entry, first};
    first = end.next;
  }
  return std::pair{std::string_view(), first};
}

// Has the shared log's link have these parts.
Stored<void> rewrite_link(SharedLog& shared, std::uint64_t epoch, const ChainLink& link,
                          const LinkParts& parts) {
  std::string bytes;
  for (const std::string_view entry : parts.entries) append_link_entry(entry, bytes);
  if (!parts.replacement.empty()) append_link_replacement(parts.replacement, bytes);
  if (bytes == link.bytes || TRY(shared.rewrite(epoch, link, bytes))) return {};
  return store_failure(StoreError::Kind::in_use,
                       "the cell's log was changed by another server, or was trimmed");
}

// Takes out what earlier redactions of the record left of its texts: what came with their events.
Stored<void> erase_earlier(SharedLog& shared, const EventLog& replica, std::uint64_t epoch,
                           Position position, Position redacted_at) {
  std::vector<Position> earlier;
  const Position from = std::max(position, replica.horizon().position) + 1;
  TRY(replica.scan(from, redacted_at - 1, [&](Record&& record) {
    const auto* event = event_as<PayloadRedacted>(record.event);
    if (event != nullptr && event->redacted_position == position) {
      earlier.push_back(record.position);
    }
    return true;
  }));
  for (const Position each : earlier) {
    const auto link = TRY(shared.find(each));
    if (!link) continue;
    LinkParts parts = TRY(link_parts(link->bytes));
    parts.replacement = {};
    TRY(rewrite_link(shared, epoch, *link, parts));
  }
  return {};
}

}  // namespace

Stored<AppendResult> ReplicatedEventLog::commit_redaction(Position expected_tail,
                                                          const Commit& commit,
                                                          const StagedRedaction& staged) {
  const auto* event = event_as<PayloadRedacted>(commit.front().event);
  SIGNALBOX_CHECK(commit.size() == 1 && event != nullptr);
  SIGNALBOX_CHECK(event->redacted_position == staged.position);
  SIGNALBOX_CHECK(event->replacement_digest == staged.redacted.replacement_digest);
  if (expected_tail != replica_.tail()) {
    return AppendResult{AppendStatus::conflict, replica_.tail(), {}};
  }
  check_numbering(expected_tail, {&commit, 1});
  const std::string replacement =
      TRY(replacement_in(staged.redacted.bytes, staged.entry_first, staged.position));
  return append_link({&commit, 1}, replacement);
}

Stored<void> ReplicatedEventLog::begin_erasure() {
  const std::lock_guard lock(writing_);
  return replica_.begin_erasure();
}

Stored<void> ReplicatedEventLog::note_erased(const Erasure& erasure) {
  const std::lock_guard lock(writing_);
  return replica_.note_erased(erasure);
}

Stored<void> ReplicatedEventLog::settle_redactions(Position through) {
  const std::lock_guard lock(writing_);
  return replica_.settle_redactions(through);
}

// What was followed last may be lost with the machine, and is followed again then.
Position ReplicatedEventLog::erased_through(bool is_writer) const {
  const Position synced = replica_.synced();
  const PendingRedactions pending = replica_.pending_redactions();
  const bool is_done = !is_writer && !pending.is_erasing && pending.awaited.empty();
  if (is_done || pending.due.empty()) return synced;
  return std::min(synced, pending.due.front() - 1);
}

Stored<std::string> ReplicatedEventLog::replacement_for(const PayloadRedacted& event) const {
  const Position position = event.redacted_position;
  std::string replacement;
  if (replica_.horizon().first_dropped(position, position)) return replacement;
  const Position first = TRY(replica_.read_commit(position)).front().position;
  Stored<std::string> found = std::string();
  TRY(replica_.scan_entries(first, [&](std::string_view entry, Position begin) {
    found = replacement_in(entry, begin, position);
    return false;
  }));
  replacement = TRY(std::move(found));
  if (sha256(replacement) != event.replacement_digest) replacement.clear();
  return replacement;
}

Stored<AppendResult> ReplicatedEventLog::redact(Position, const Redaction&) {
  return store_failure(StoreError::Kind::unsupported,
                       "a record of a cell is redacted while its servers serve");
}

// The record's own link comes last: it says whether all of this is done.
Stored<void> erase_from_chain(SharedLog& shared, const EventLog& replica, std::uint64_t epoch,
                              Position redacted_at) {
  const auto commit = replica.read_commit(redacted_at);
  if (!commit && commit.error().kind == StoreError::Kind::dropped) return {};
  if (!commit) return tl::unexpected(commit.error());
  const auto* event = event_as<PayloadRedacted>(commit->front().event);
  if (event == nullptr) {
    return tl::unexpected(
        damaged_at(redacted_at, "it is noted as a PayloadRedacted, and isn't one"));
  }
  const Position position = event->redacted_position;
  const auto note = TRY(shared.find(redacted_at));
  if (!note) return {};  // it was trimmed, and so was what lies before it
  const std::string replacement(TRY(link_parts(note->bytes)).replacement);
  // A later redaction of the record took it out, and all else of before.
  if (sha256(replacement) != event->replacement_digest) return {};
  const auto link = TRY(shared.find(position));
  if (!link) return erase_earlier(shared, replica, epoch, position, redacted_at);
  LinkParts parts = TRY(link_parts(link->bytes));
  const Position first = link->prev == before_chain ? 1 : link->prev + 1;
  const auto [entry, begin] = TRY(entry_in(parts, first, position));
  if (entry.empty()) return erase_earlier(shared, replica, epoch, position, redacted_at);
  const std::string present = TRY(replacement_in(entry, begin, position));
  if (present == replacement) return {};
  if (!present.empty()) TRY(erase_earlier(shared, replica, epoch, position, redacted_at));
  const std::string replaced = TRY(replace_payload(entry, begin, position, replacement));
  std::ranges::replace(parts.entries, entry, std::string_view(replaced));
  return rewrite_link(shared, epoch, *link, parts);
}

}  // namespace signalbox
