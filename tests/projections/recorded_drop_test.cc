// A drop that another server of a cell has recorded: each replica plans the same one, whatever its
// log has behind the event, and notices if it wouldn't be the same.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <vector>

#include "projections/memory_table.h"
#include "projections/retention_plan.h"
#include "store/memory_event_log.h"
#include "store/merkle_tree.h"
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
  MemoryTable other;
  const auto again = plan_recorded_drop(work.log, dropped_at, other);
  RC_ASSERT(again.has_value());
  RC_ASSERT(again->drop.base == plan.drop.base);
  RC_ASSERT(again->drop.kept == plan.drop.kept);
  RC_ASSERT(again->drop.position == plan.horizon);
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
  MemoryTable other;
  const auto again = plan_recorded_drop(work.log, dropped_at, other);
  RC_ASSERT(!again.has_value());
  RC_ASSERT(again.error().kind == StoreError::Kind::damaged);
}

}  // namespace
}  // namespace signalbox
