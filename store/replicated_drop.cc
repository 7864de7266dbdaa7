// How the log of a server in a cell drops history: its own drop as the writer, and those that the
// cell's log records and every server makes for itself.
#include <utility>

#include "domain/check.h"
#include "domain/try.h"
#include "store/replicated_event_log.h"

namespace signalbox {
namespace {

StoreError redacted_meanwhile() {
  return {StoreError::Kind::rebuilding,
          "a text was redacted since it was planned what to drop",
          {},
          {}};
}

}  // namespace

// The event is in the cell's log before the records go: whatever happens in between, the drop is
// due here as at any other server.
Stored<AppendResult> ReplicatedEventLog::commit_drop(Position expected_tail, const Commit& commit,
                                                     const StagedDrop& staged) {
  const auto* event = event_as<HistoryDropped>(commit.front().event);
  SIGNALBOX_CHECK(commit.size() == 1 && event != nullptr);
  if (!due_drops().empty()) {
    return store_failure(StoreError::Kind::in_use, "an earlier drop isn't made here yet");
  }
  TRY(require_drop_of(*event, staged));
  AppendResult result = append(expected_tail, {&commit, 1});
  if (result.status != AppendStatus::ok) return result;
  const auto make = [&] {
    const std::lock_guard lock(writing_);
    return replica_.commit_due_drop(staged, result.tail);
  };
  if (const auto dropped = make(); !dropped && dropped.error().kind != StoreError::Kind::full) {
    return AppendResult{AppendStatus::unknown, result.tail, dropped.error().message};
  }
  return result;
}

Stored<bool> ReplicatedEventLog::store_base_part(StagedDrop& staged) {
  const std::lock_guard lock(writing_);
  if (staged.base_parts == 0) base_begun_ = staged.base_key;
  if (base_begun_ != staged.base_key) return tl::unexpected(redacted_meanwhile());
  return replica_.store_base_part(staged);
}

Stored<void> ReplicatedEventLog::note_purged() {
  const std::lock_guard lock(writing_);
  return replica_.note_purged();
}

// The position of the event is known, and no base has it as its key.
Stored<StagedDrop> ReplicatedEventLog::stage_due_drop(HistoryDrop drop, Position dropped_at,
                                                      Position redacted_at,
                                                      const std::atomic<bool>* canceled) const {
  StagedDrop staged = TRY(replica_.stage_drop(std::move(drop), canceled));
  staged.base_key = dropped_at;
  staged.redacted_at = redacted_at;
  return staged;
}

Stored<void> ReplicatedEventLog::commit_due_drop(const StagedDrop& staged) {
  const std::lock_guard lock(writing_);
  const bool is_stored = staged.base_parts == 0 || base_begun_ == staged.base_key;
  if (!is_stored || replica_.pending_redactions().latest != staged.redacted_at) {
    return tl::unexpected(redacted_meanwhile());
  }
  return replica_.commit_due_drop(staged, staged.base_key);
}

}  // namespace signalbox
