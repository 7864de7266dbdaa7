// How a MemoryEventLog replaces payloads, and takes the entries of another log.
#include <iterator>
#include <utility>

#include "domain/try.h"
#include "store/memory_log_state.h"

namespace signalbox {

AppendResult MemoryEventLog::append_entries(Position expected_tail,
                                            std::span<const std::string_view> entries,
                                            MerkleFrontier next,
                                            const EntryRedactions& redactions) {
  const std::unique_lock lock(state_->mutex);
  const Position tail = state_->kept.frontier.leaves;
  if (expected_tail != tail) return {AppendStatus::conflict, tail, {}};
  if (entries.empty()) return {AppendStatus::ok, tail, {}};
  using Entry = ReplicaEntries::Entry;
  std::vector<Entry> replaced;
  const auto entry_of = [this](Position position) -> Stored<Entry> {
    const auto& [first, entry] = *std::prev(state_->kept.entries.upper_bound(position));
    return Entry{first, *entry};
  };
  const auto replace = [&replaced](const Entry& entry) -> Stored<void> {
    replaced.push_back(entry);
    return {};
  };
  const StagedDrop* const base = redactions.base;
  auto pending = follow_redactions(state_->kept.redactions, entries, redactions,
                                   {state_->kept.horizon, entry_of, replace});
  if (!pending) return {AppendStatus::unknown, tail, pending.error().message};
  return state_->write([&](State::Kept& kept) {
    kept.redactions = *std::move(pending);
    if (base != nullptr) {
      SIGNALBOX_CHECK(base->drop.renews(kept.horizon));
      kept.horizon.base_sha256 = base->base_sha256;
      kept.horizon.base_bytes = base->drop.base.size();
      kept.horizon.base_key = base->base_key;
      kept.base = base->drop.base;
    }
    if (redactions.renewed_at > 0) {
      kept.horizon.dropped_at = redactions.renewed_at;
      kept.due_drops.clear();
    }
    for (const std::string_view entry : entries) {
      const auto first = parse_frame(entry);
      SIGNALBOX_CHECK(first.has_value());
      kept.entries[first->position] = std::make_shared<const std::string>(entry);
      const bool is_drop = first->number == HistoryDropped::tag.number;
      if (is_drop && first->position != redactions.renewed_at) {
        kept.due_drops.push_back(first->position);
      }
    }
    for (const Entry& each : replaced) {
      kept.entries[each.first] = std::make_shared<const std::string>(each.bytes);
    }
    kept.frontier = std::move(next);
  });
}

Stored<AppendResult> MemoryEventLog::redact(Position expected_tail, const Redaction& redaction) {
  if (expected_tail != tail()) return AppendResult{AppendStatus::conflict, tail(), {}};
  Salt salt;
  state_->options.random(salt);
  const auto staged = TRY(stage_redaction(redaction.position, redaction.replacement, salt));
  Commit commit{redaction.note};
  set_digests(commit.front(), staged.redacted);
  return commit_redaction(expected_tail, commit, staged);
}

Stored<StagedRedaction> MemoryEventLog::stage_redaction(Position position, const Event& replacement,
                                                        const Salt& salt) const {
  const std::shared_lock lock(state_->mutex);
  TRY(state_->require(position));
  const auto& [first, entry] = *std::prev(state_->kept.entries.upper_bound(position));
  auto redacted = TRY(redact_entry(*entry, first, position, replacement, salt));
  return StagedRedaction{position, std::move(redacted), first, sha256(*entry)};
}

Stored<AppendResult> MemoryEventLog::commit_redaction(Position expected_tail, const Commit& commit,
                                                      const StagedRedaction& staged) {
  const std::unique_lock lock(state_->mutex);
  const auto* event = event_as<PayloadRedacted>(commit.front().event);
  SIGNALBOX_CHECK(commit.size() == 1 && event != nullptr);
  SIGNALBOX_CHECK(event->redacted_position == staged.position);
  SIGNALBOX_CHECK(event->payload_digest == staged.redacted.payload_digest);
  SIGNALBOX_CHECK(event->replacement_digest == staged.redacted.replacement_digest);
  const Position tail = state_->kept.frontier.leaves;
  if (expected_tail != tail) return AppendResult{AppendStatus::conflict, tail, {}};
  check_numbering(expected_tail, {&commit, 1});
  // Another redaction of the entry, or its drop, would be undone.
  const auto present = state_->kept.entries.find(staged.entry_first);
  SIGNALBOX_CHECK(present != state_->kept.entries.end());
  SIGNALBOX_CHECK(sha256(*present->second) == staged.replaced_sha256);
  return state_->write([&](State::Kept& kept) {
    kept.entries[staged.entry_first] = std::make_shared<const std::string>(staged.redacted.bytes);
    kept.entries[commit.front().position] =
        kept_entry(commit, state_->options.random, state_->sha256, kept.frontier);
  });
}

PendingRedactions MemoryEventLog::pending_redactions() const {
  const std::shared_lock lock(state_->mutex);
  return state_->kept.redactions;
}

Stored<void> MemoryEventLog::settle_redactions(Position through) {
  const std::unique_lock lock(state_->mutex);
  std::erase_if(state_->kept.redactions.due, [=](Position each) { return each <= through; });
  return {};
}

Stored<void> MemoryEventLog::note_erased(const Erasure& /*erasure*/) {
  const std::unique_lock lock(state_->mutex);
  state_->kept.redactions.is_erasing = false;
  return {};
}

}  // namespace signalbox
