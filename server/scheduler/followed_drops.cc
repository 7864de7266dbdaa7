#include "server/scheduler/followed_drops.h"

#include <exception>
#include <utility>

#include "domain/nanoseconds.h"
#include "domain/try.h"
#include "projections/retention_on_disk.h"

namespace signalbox {
namespace {

// Before a drop that failed for want of space is tried again.
constexpr std::int64_t retry_pause_ms = 30'000;

constexpr const char* what_to_do =
    ". Nothing was dropped here, and this server goes on with all its records. If it has another "
    "version than the one that dropped the records, install that version. Otherwise run "
    "`signalbox cell seed DIR` at another server of the cell, stop this one, put what is in DIR "
    "into its data directory, in place of its `log`, `anchor` and `projections`, and start it. The "
    "next start of this server tries it again";

}  // namespace

FollowedDrops::FollowedDrops(Parts parts)
    : parts_(std::move(parts)), stopped_(std::make_shared<std::atomic<bool>>(false)) {}

Position FollowedDrops::due_horizon() {
  const auto due = parts_.log.due_drops();
  if (due.empty()) return 0;
  if (due_read_ == due.back()) return due_horizon_;
  const auto commit = parts_.log.read_commit(due.back());
  const auto* event = commit ? event_as<HistoryDropped>(commit->front().event) : nullptr;
  if (event == nullptr) return due.back();  // drop() says what is wrong
  due_read_ = due.back();
  due_horizon_ = event->horizon;
  return due_horizon_;
}

void FollowedDrops::look() {
  if (under_way_ || *stopped_ || !trouble_.empty()) return;
  const auto due = parts_.log.due_drops();
  if (due.empty() || awaits_redaction() || parts_.clock.monotonic_ns() < retry_at_ns_ ||
      !parts_.turn.take()) {
    return;
  }
  under_way_ = true;
  parts_.blocking.run({.name = "retention"},
                      [this, first = due.front(), stopped = stopped_]() -> std::function<void()> {
                        Stored<Position> made = 0;
                        try {
                          made = drop();
                        } catch (const std::exception& failure) {
                          made = store_failure(StoreError::Kind::io, failure.what());
                        }
                        if (made) finish_files();
                        return [this, first, made = std::move(made), stopped] {
                          if (!*stopped) conclude(first, made);
                        };
                      });
}

bool FollowedDrops::awaits_redaction() {
  const auto awaited = parts_.log.pending_redactions().awaited;
  return !awaited.empty() && awaited.front() <= due_horizon();
}

// In this order: a redaction that is followed meanwhile is noticed.
Stored<Position> FollowedDrops::drop() const {
  const InterruptibleLog log(parts_.log, *stopped_);
  const Position redacted_at = parts_.log.pending_redactions().latest;
  const auto due = parts_.log.due_drops();
  const auto scratch = scratch_of(parts_.data, PlanScratch::followed_drop);
  auto plan =
      plan_due_drop(log, due, [&scratch](const auto& each) { return plan_on_disk(scratch, each); });
  if (!plan && parts_.log.pending_redactions().latest != redacted_at) {
    return store_failure(StoreError::Kind::rebuilding,
                         "a text was redacted while it was planned what to drop");
  }
  DueDropPlan planned = TRY(std::move(plan));
  HistoryDrop& drop = planned.plan.drop;
  TRY(require_drop_space(parts_.data, drop));
  auto staged = TRY(
      parts_.log.stage_due_drop(std::move(drop), planned.dropped_at, redacted_at, stopped_.get()));
  // The read models get what will be dropped before it is.
  if (!parts_.follow_to(staged.drop.position)) {
    return store_failure(StoreError::Kind::rebuilding,
                         "the read models are behind what is to be dropped");
  }
  for (bool more = true; more;) {
    if (*stopped_) return store_failure(StoreError::Kind::io, "the service stops");
    more = TRY(parts_.log.store_base_part(staged));
  }
  TRY(parts_.log.commit_due_drop(staged));
  return planned.dropped_at;
}

void FollowedDrops::finish_files() const {
  static_cast<void>(parts_.renew_rows(*stopped_));
  if (!*stopped_ && parts_.log.purge_dropped(stopped_.get())) {
    static_cast<void>(parts_.log.note_purged());
  }
}

void FollowedDrops::conclude(Position first, const Stored<Position>& made) {
  under_way_ = false;
  parts_.turn.give_back();
  if (made) return parts_.dropped(*made);
  const StoreError& error = made.error();
  const std::string drop = "what the cell dropped at " + std::to_string(first);
  switch (error.kind) {
    // The records themselves are proven to be the writer's: it would be no better tomorrow, and
    // nothing is wrong with what is served.
    case StoreError::Kind::damaged:
    case StoreError::Kind::unsupported:
    case StoreError::Kind::not_found:
    case StoreError::Kind::dropped:
      trouble_ = drop + " can't be dropped here: " + error.message + what_to_do;
      return parts_.note(trouble_);
    default:
      break;
  }
  retry_at_ns_ = parts_.clock.monotonic_ns() + retry_pause_ms * ns_per_ms;
  parts_.note(drop + " isn't dropped here yet: " + error.message + "; it is tried again in " +
              std::to_string(retry_pause_ms / 1000) + " s");
}

}  // namespace signalbox
