// A log of a cell whose writer drops records.
#pragma once

#include <utility>

#include <gtest/gtest.h>

#include "projections/memory_table.h"
#include "projections/retention_plan.h"
#include "store/merkle_tree.h"
#include "store/replicated_event_log.h"

namespace signalbox::test {

// Returns the next record of the log, which has one record for each second since 1970.
inline Record next_record(const EventLog& log, ServerEvent event) {
  Record record;
  record.position = log.tail() + 1;
  record.stream = Stream::server();
  record.recorded_at_ns = static_cast<std::int64_t>(record.position) * 1'000'000'000;
  record.actor = "signalbox";
  record.event = Event(std::move(event));
  return record;
}

inline void append_event(ReplicatedEventLog& log, ServerEvent event) {
  const Commit commit{next_record(log, std::move(event))};
  ASSERT_EQ(log.append(log.tail(), {&commit, 1}).status, AppendStatus::ok);
}

// Drops what was written in the first `seconds` after 1970, as the writer; `change` alters what is
// recorded, and then nothing is dropped here.
inline void drop_until(ReplicatedEventLog& log, std::int64_t seconds,
                       void (*change)(HistoryDropped&) = nullptr) {
  MemoryTable scratch;
  RetentionPlan plan = plan_retention(log, seconds * 1'000'000'000, scratch, 0).value();
  HistoryDropped event;
  event.horizon = plan.horizon;
  event.from = plan.from;
  event.records = plan.records_dropped;
  event.records_kept = plan.records_kept;
  event.base = sha256(plan.drop.base);
  StagedDrop staged = log.stage_drop(std::move(plan.drop), nullptr).value();
  Sha256 hashing;
  event.root = merkle_root(staged.frontier, hashing);
  if (change != nullptr) {
    change(event);
    return append_event(log, ServerEvent(event));
  }
  ASSERT_FALSE(log.store_base_part(staged).value());
  const auto result = log.commit_drop(log.tail(), {next_record(log, ServerEvent(event))}, staged);
  ASSERT_TRUE(result && result->status == AppendStatus::ok);
}

}  // namespace signalbox::test
