// A drop that another server of a cell has recorded: each replica plans the same one, whatever its
// log has behind the event, and notices if it wouldn't be the same.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <vector>

#include "domain/free_text.h"
#include "projections/memory_table.h"
#include "projections/retention_plan.h"
#include "store/memory_event_log.h"
#include "store/sha256.h"
#include "tests/domain/random_history.h"

namespace signalbox {
namespace {

// A log of random work, command by command.
struct RecordedWork {
  RandomHistory history;
  MemoryEventLog log;

  void take(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      const std::size_t before = history.records.size();
      if (!history.take(step)) continue;
      append({history.records.begin() + static_cast<long>(before), history.records.end()});
    }
  }
  void append(const Commit& commit) {
    RC_ASSERT(log.append(log.tail(), {&commit, 1}).status == AppendStatus::ok);
  }
  // Appends the event of the plan, as a server does that drops by it, and drops nothing. Returns
  // its position.
  Position record(const RetentionPlan& plan, std::int64_t failed_until_ns,
                  const std::function<void(HistoryDropped&)>& change = {}) {
    HistoryDropped event;
    event.horizon = plan.horizon;
    event.from = plan.from;
    event.records = plan.records_dropped;
    event.records_kept = plan.records_kept;
    event.base = sha256(plan.drop.base);
    event.failed_until_ns = failed_until_ns;
    if (change) change(event);
    Record each;
    each.position = log.tail() + 1;
    each.stream = Stream::server();
    each.recorded_at_ns = history.records.back().recorded_at_ns;
    each.actor = "signalbox";
    each.event = Event(ServerEvent(event));
    evolve(history.world, each);
    history.records.push_back(each);
    append({each});
    return each.position;
  }
};

Stored<DueDropPlan> plan_due(const EventLog& log, const std::vector<Position>& due) {
  return plan_due_drop(log, due, [](const auto& plan) {
    MemoryTable scratch;
    return plan(scratch);
  });
}

std::int64_t some_time_in(const RandomHistory& history) {
  const auto at = *rc::gen::inRange<std::size_t>(0, history.records.size());
  return history.records[at].recorded_at_ns;
}

RC_GTEST_PROP(RecordedDrop, IsPlannedAsItsWriterDidWhateverFollowed, ()) {  // K7
  RecordedWork work;
  work.take(*random_steps());
  RC_PRE(!work.history.records.empty());
  const std::int64_t failed_until_ns = some_time_in(work.history);
  MemoryTable scratch;
  const auto plan =
      plan_retention(work.log, some_time_in(work.history), scratch, failed_until_ns).value();
  RC_PRE(plan.horizon >= plan.from);
  const Position dropped_at = work.record(plan, failed_until_ns);
  work.take(*random_steps());
  const auto again = plan_due(work.log, {dropped_at});
  RC_ASSERT(again.has_value());
  RC_ASSERT(again->dropped_at == dropped_at);
  RC_ASSERT(again->plan.drop.base == plan.drop.base);
  RC_ASSERT(again->plan.drop.kept == plan.drop.kept);
  RC_ASSERT(again->plan.drop.position == plan.horizon);
}

// A text of what it keeps was redacted since, and the event that renewed the base says so: the plan
// is made as that one says, also by a log that has had the record without the text from the start.
RC_GTEST_PROP(RecordedDrop, IsPlannedWithoutATextThatWasRedactedSince, ()) {  // K7
  RecordedWork work;
  work.take(*random_steps());
  RC_PRE(!work.history.records.empty());
  const std::int64_t until_ns = some_time_in(work.history);
  MemoryTable scratch;
  const auto plan = plan_retention(work.log, until_ns, scratch, 0).value();
  RC_PRE(plan.horizon >= plan.from);
  std::vector<Record> candidates;
  for (const PositionRange& range : plan.drop.kept) {
    for (Position position = range.first; position <= range.last; ++position) {
      const Record& record = work.history.records.at(position - 1);
      if (!free_text_fields(record.event).empty()) candidates.push_back(record);
    }
  }
  RC_PRE(!candidates.empty());
  const Record record = *rc::gen::elementOf(candidates);
  const Event replacement =
      without_free_texts(record.event, free_text_fields(record.event), Blank::telling);
  RecordedWork never;  // had the texts
  for (Position next = 1; next <= work.log.tail();) {
    Commit commit = work.log.read_commit(next).value();
    next = commit.back().position + 1;
    for (Record& each : commit) {
      if (each.position == record.position) each.event = replacement;
    }
    never.append(commit);
  }
  MemoryTable other;
  const auto without = plan_retention(never.log, until_ns, other, 0).value();

  const Position dropped_at = work.record(plan, 0);
  work.take(*random_steps());
  const Position renewed_at =
      work.record(plan, 0, [&](HistoryDropped& event) { event.base = sha256(without.drop.base); });
  Redaction redaction;
  redaction.position = record.position;
  redaction.replacement = replacement;
  redaction.note = work.history.records.back();
  redaction.note.position = work.log.tail() + 1;
  redaction.note.stream = Stream::access();
  PayloadRedacted redacted;
  redacted.redacted_position = record.position;
  redacted.event = tag_of(record.event).name;
  redaction.note.event = AccessEvent(redacted);
  RC_ASSERT(work.log.redact(work.log.tail(), redaction).has_value());
  const auto again = plan_due(work.log, {dropped_at, renewed_at});
  RC_ASSERT(again.has_value());
  RC_ASSERT(again->plan.drop.base == without.drop.base);
  RC_ASSERT(again->plan.drop.kept == plan.drop.kept);
  RC_ASSERT(again->dropped_at == (without.drop.base == plan.drop.base ? dropped_at : renewed_at));
}

// One that differs in any of what the event says is refused.
RC_GTEST_PROP(RecordedDrop, ThatDiffersIsDamage, ()) {  // K7
  RecordedWork work;
  work.take(*random_steps());
  RC_PRE(!work.history.records.empty());
  MemoryTable scratch;
  const auto plan = plan_retention(work.log, some_time_in(work.history), scratch, 0).value();
  RC_PRE(plan.horizon >= plan.from);
  const auto changes = std::vector<std::function<void(HistoryDropped&)>>{
      [](HistoryDropped& event) { event.base.bytes[0] ^= 1; },
      [](HistoryDropped& event) { ++event.records; },
      [](HistoryDropped& event) { ++event.records_kept; },
      [](HistoryDropped& event) { ++event.from; },
      [](HistoryDropped& event) { event.horizon = 0; },
      [](HistoryDropped& event) { event.horizon = event.horizon + 1'000'000; }};
  const auto& change = changes[*rc::gen::inRange<std::size_t>(0, changes.size())];
  const Position dropped_at = work.record(plan, 0, change);
  const auto again = plan_due(work.log, {dropped_at});
  RC_ASSERT(!again.has_value());
  RC_ASSERT(again.error().kind == StoreError::Kind::damaged);
}

}  // namespace
}  // namespace signalbox
