// Redactions in a cell: how the writer records one, and how an erased text leaves the shared log.
#include <algorithm>
#include <iterator>
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

// Returns the entry that has the record, and where it begins.
Stored<std::pair<Position, std::string>> entry_of(const ReplicaLog& replica, Position position) {
  std::pair<Position, std::string> found;
  found.first = TRY(replica.read_commit(position)).front().position;
  TRY(replica.scan_entries(found.first, [&](std::string_view entry, Position) {
    found.second = entry;
    return false;
  }));
  return found;
}

// Returns the record in the entry that begins at `first`.
Stored<Record> record_in(std::string_view entry, Position first, Position position) {
  Commit commit = TRY(decode_entry(entry, first));
  for (Record& record : commit) {
    if (record.position == position) return std::move(record);
  }
  return tl::unexpected(damaged_at(position, "it is missing"));
}

StoreError other_base(Position redacted_at, Position position, const std::string& why) {
  return damaged_at(
      redacted_at,
      "record " + std::to_string(position) +
          ", which a retention kept, was redacted, and the state that this server's log begins "
          "with isn't the one of the cell's log then: " +
          why +
          ". This server mustn't go on with it. Install the version that the other servers have; "
          "if it is that, run `signalbox cell seed DIR` at another server of the cell, put what is "
          "in DIR into this server's data directory, in place of its `log`, `anchor` and "
          "`projections`, and start it");
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
  const auto note = [&](Record&& record) {
    const auto* event = event_as<PayloadRedacted>(record.event);
    if (event != nullptr && event->redacted_position == position) {
      earlier.push_back(record.position);
    }
    return true;
  };
  // A retention that kept the record kept those events.
  const Horizon horizon = replica.horizon();
  for (const PositionRange& range : horizon.kept) {
    const Position from = std::max(range.first, position + 1);
    if (from <= range.last) TRY(replica.scan(from, range.last, note));
  }
  TRY(replica.scan(std::max(position, horizon.position) + 1, redacted_at - 1, note));
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
  const auto* event = event_as<PayloadRedacted>(commit.back().event);
  SIGNALBOX_CHECK(commit.size() == (staged.base ? 2U : 1U) && event != nullptr);
  SIGNALBOX_CHECK(event->redacted_position == staged.position);
  SIGNALBOX_CHECK(event->replacement_digest == staged.redacted.replacement_digest);
  if (expected_tail != replica_.tail()) {
    return AppendResult{AppendStatus::conflict, replica_.tail(), {}};
  }
  std::vector<Commit> entries;
  for (const Record& record : commit) entries.push_back({record});
  check_numbering(expected_tail, entries);
  if (staged.base) {
    const auto* renewal = event_as<HistoryDropped>(commit.front().event);
    SIGNALBOX_CHECK(renewal != nullptr && due_drops().empty());
    TRY(require_drop_of(*renewal, *staged.base));
  }
  const std::string replacement =
      TRY(replacement_in(staged.redacted.bytes, staged.entry_first, staged.position));
  return append_link(entries, replacement, staged.base ? &*staged.base : nullptr);
}

// The texts of the record are needed to find them in the base, and the write that has the event
// replaces them: so this comes first, on whichever thread follows. It takes as long as to read the
// base and the kept records.
//
// The base is another one than the writer had if a drop is due here, or if the replacement of an
// earlier redaction was gone when that was followed. It serves without the texts then, and what is
// due proves what comes of it. A base that differs for no such reason is found out in the same way:
// its renewal stays due, and can't be made.
Stored<std::optional<ReplicatedEventLog::RenewedBase>> ReplicatedEventLog::renew_base(
    const std::vector<Commit>& commits, std::string_view replacement) const {
  const auto place = std::ranges::find_if(commits, [](const Commit& commit) {
    return event_as<PayloadRedacted>(commit.front().event) != nullptr;
  });
  const Horizon horizon = replica_.horizon();
  if (place == commits.end()) return std::nullopt;
  const Position redacted_at = place->front().position;
  const auto& event = *event_as<PayloadRedacted>(place->front().event);
  const Position position = event.redacted_position;
  if (position > horizon.position || horizon.first_dropped(position, position)) return std::nullopt;
  const auto* renewal = place == commits.begin()
                            ? nullptr
                            : event_as<HistoryDropped>(std::prev(place)->front().event);
  const auto [first, entry] = TRY(entry_of(replica_, position));
  const auto applied = TRY(apply_redaction(entry, first, event, replacement));
  if (applied.entry.empty()) return std::nullopt;
  const Record before = TRY(record_in(entry, first, position));
  const Record after = TRY(record_in(applied.entry, first, position));
  if (!redact_base_) {
    return store_failure(StoreError::Kind::unsupported, "nothing here can renew a base");
  }
  auto base = redact_base_(replica_, before, after.event);
  if (!base && base.error().kind == StoreError::Kind::io) return tl::unexpected(base.error());
  if (!base) return tl::unexpected(other_base(redacted_at, position, base.error().message));
  if (renewal == nullptr && sha256(*base) == horizon.base_sha256) return std::nullopt;
  if (renewal == nullptr && due_drops().empty()) {
    return tl::unexpected(other_base(redacted_at, position, "only here it has texts of that"));
  }
  RenewedBase renewed;
  renewed.staged =
      TRY(replica_.stage_drop({horizon.position, horizon.kept, *std::move(base)}, nullptr));
  const bool is_recorded = renewal != nullptr && require_drop_of(*renewal, renewed.staged);
  if (is_recorded) renewed.renewed_at = std::prev(place)->front().position;
  renewed.staged.base_key = is_recorded ? renewed.renewed_at : redacted_at;
  return renewed;
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
  const auto [first, entry] = TRY(entry_of(replica_, position));
  replacement = TRY(replacement_in(entry, first, position));
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
