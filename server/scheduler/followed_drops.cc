#include "server/scheduler/followed_drops.h"

#include <exception>
#include <type_traits>
#include <utility>

#include "domain/nanoseconds.h"
#include "domain/try.h"
#include "projections/retention_on_disk.h"

namespace signalbox {
namespace {

// Before a drop that failed for want of space is tried again.
constexpr std::int64_t retry_pause_ms = 30'000;
// Failures in a row from which on it is shown that a drop is tried again. One that finds the read
// models behind is usual.
constexpr int shown_failures_min = 3;

constexpr const char* what_to_do =
    ". Nothing was dropped here, and this server goes on with all its records. If it has another "
    "version than the one that dropped the records, install that version. Otherwise run "
    "`signalbox cell seed DIR` at another server of the cell, stop this one, put what is in DIR "
    "into its data directory, in place of its `log`, `anchor` and `projections`, and start it. The "
    "next start of this server tries it again";

template <class Step>
std::invoke_result_t<Step> tried(const Step& step) {
  try {
    return step();
  } catch (const std::exception& failure) {
    return store_failure(StoreError::Kind::io, failure.what());
  }
}

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
  if (under_way_ || *stopped_) return;
  const auto due = parts_.log.due_drops();
  const bool can_drop = trouble_.empty() && !due.empty() && !awaits_redaction();
  if ((!can_drop && !is_unfinished_) || parts_.clock.monotonic_ns() < retry_at_ns_ ||
      !parts_.turn.take()) {
    return;
  }
  under_way_ = true;
  parts_.blocking.run({.name = "retention"},
                      [this, first = can_drop ? due.front() : 0, had_files = is_unfinished_,
                       stopped = stopped_]() -> std::function<void()> {
                        Stored<Position> made = 0;
                        if (first != 0) made = tried([this] { return drop(); });
                        Stored<void> finished;
                        if (made || had_files) finished = tried([this] { return finish_files(); });
                        return [this, first, made = std::move(made), finished = std::move(finished),
                                stopped] {
                          if (!*stopped) conclude(first, made, finished);
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

Stored<void> FollowedDrops::finish_files() const {
  const Stored<void> renewed = parts_.renew_rows(*stopped_);
  if (*stopped_) return renewed;
  Stored<void> purged = parts_.log.purge_dropped(stopped_.get());
  if (purged) purged = parts_.log.note_purged();
  return renewed ? purged : renewed;
}

void FollowedDrops::conclude(Position first, const Stored<Position>& made,
                             const Stored<void>& finished) {
  under_way_ = false;
  parts_.turn.give_back();
  is_unfinished_ = !finished.has_value();
  if (made && *made != 0) parts_.dropped(*made);
  if (!finished) {
    return delay(
        "what the cell dropped is dropped here, but read models or files of the log may "
        "still have it: " +
        finished.error().message);
  }
  if (made) {
    failures_ = 0;
    return delay_.clear();
  }
  const StoreError& error = made.error();
  const std::string drop = "what the cell dropped at " + std::to_string(first);
  switch (error.kind) {
    // The records themselves are proven to be the writer's: it would be no better tomorrow, and
    // nothing is wrong with what is served.
    case StoreError::Kind::damaged:
    case StoreError::Kind::unsupported:
    case StoreError::Kind::not_found:
    case StoreError::Kind::dropped:
      delay_.clear();
      trouble_ = drop + " can't be dropped here: " + error.message + what_to_do;
      return parts_.note(trouble_);
    default:
      break;
  }
  delay(drop + " isn't dropped here yet: " + error.message);
}

void FollowedDrops::delay(const std::string& what) {
  retry_at_ns_ = parts_.clock.monotonic_ns() + retry_pause_ms * ns_per_ms;
  const std::string text =
      what + "; it is tried again in " + std::to_string(retry_pause_ms / 1000) + " s";
  if (++failures_ >= shown_failures_min) delay_ = text;
  parts_.note(text);
}

}  // namespace signalbox
