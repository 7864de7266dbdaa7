// Random histories whose records are dropped: the state stays the same, so do the answers about the
// remaining records, and the base doesn't depend on the number of drops.
#include "projections/history_base.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "domain/free_text.h"
#include "projections/base_redaction.h"
#include "projections/memory_table.h"
#include "projections/retention_plan.h"
#include "projections/run_history.h"
#include "projections/run_index.h"
#include "projections/world_codec.h"
#include "projections/world_digest.h"
#include "store/memory_event_log.h"
#include "store/merkle_tree.h"
#include "tests/domain/random_history.h"
#include "tests/projections/naive_lock_ledger.h"

namespace signalbox {
namespace {

// A history and the log of it, command by command.
struct KeptHistory {
  RandomHistory history;
  MemoryEventLog log;
  std::vector<MerkleFrontier> trees{{}};  // by position, where a command ends
  std::vector<Commit> commits;

  void take(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      const std::size_t before = history.records.size();
      if (history.take(step))
        append({history.records.begin() + static_cast<long>(before), history.records.end()});
    }
  }
  void append(const Commit& commit) {
    RC_ASSERT(log.append(log.tail(), {&commit, 1}).status == AppendStatus::ok);
    commits.push_back(commit);
    trees.resize(log.tail() + 1);
    trees.back() = log.frontier();
  }
  // Adds a record that no command decided.
  void add(Record record) {
    evolve(history.world, record);
    history.records.push_back(std::move(record));
  }
};

RetentionPlan plan_of(const EventLog& log, std::int64_t until_ns) {
  MemoryTable scratch;
  auto plan = plan_retention(log, until_ns, scratch);
  RC_ASSERT(plan.has_value());
  return std::move(*plan);
}

Record record_of_drop(const KeptHistory& kept, const RetentionPlan& plan) {
  Sha256 hashing;
  HistoryDropped event;
  event.horizon = plan.horizon;
  event.root = merkle_root(kept.trees.at(plan.horizon), hashing);
  event.base = sha256(plan.drop.base);
  Record record;
  record.position = kept.log.tail() + 1;
  record.stream = Stream::server();
  record.recorded_at_ns = kept.history.records.back().recorded_at_ns;
  record.actor = "uid:1000";
  record.event = Event(ServerEvent(event));
  return record;
}

void drop(KeptHistory& kept, const RetentionPlan& plan) {
  const Record record = record_of_drop(kept, plan);
  RC_ASSERT(kept.log.drop(kept.log.tail(), {record}, plan.drop).has_value());
  kept.trees.push_back(kept.log.frontier());
  kept.add(record);
}

std::int64_t time_of_some(const RandomHistory& history) {
  const auto at = *rc::gen::inRange<std::size_t>(0, history.records.size());
  return history.records[at].recorded_at_ns;
}

// Builds the index as a start without projections does.
void begin_again(RunIndex& index, const EventLog& log) {
  RC_ASSERT(index.begin(log).has_value());
  const auto records = log.read(index.applied() + 1, log.tail());
  RC_ASSERT(records.has_value());
  RC_ASSERT(index.apply(*records).has_value());
  RC_ASSERT(index.applied() == log.tail());
}

RC_GTEST_PROP(HistoryBase, IsWhatTheDroppedRecordsLedTo, ()) {
  KeptHistory kept;
  kept.take(*random_steps());
  RC_PRE(!kept.history.records.empty());
  const RetentionPlan plan = plan_of(kept.log, time_of_some(kept.history));
  RC_PRE(plan.horizon >= plan.from);
  drop(kept, plan);

  auto world = initial_world(kept.log);
  RC_ASSERT(world.has_value());
  RC_ASSERT(kept.log
                .scan(plan.horizon + 1, kept.log.tail(),
                      [&](Record&& record) {
                        evolve(*world, record);
                        return true;
                      })
                .has_value());
  RC_ASSERT(encode_world(*world) == encode_world(kept.history.world));

  MemoryTable tables[2];
  RunIndex whole(tables[0]);
  RC_ASSERT(whole.apply(kept.history.records).has_value());
  RunIndex left(tables[1]);
  begin_again(left, kept.log);
  RunCounts counts;
  for (const RunId& id : kept.history.started) {
    const auto row = whole.find(id).value();
    RC_ASSERT(row.has_value());
    if (row->ended_position != 0 && row->last_position <= plan.horizon) {
      RC_ASSERT(!left.find(id).value().has_value());
      RC_ASSERT(left.run_positions(id).value().empty());
      if (!row->idempotency_key.empty()) {  // P3
        RC_ASSERT(left.dropped_run_of_key(row->idempotency_key).value() == row->ended_position);
      }
      continue;
    }
    ++counts.of(row->status);
    RC_ASSERT(left.find(id).value() == row);
    if (!row->idempotency_key.empty()) {
      RC_ASSERT(left.find_by_idempotency_key(row->idempotency_key).value() == row);
      RC_ASSERT(!left.dropped_run_of_key(row->idempotency_key).value().has_value());
    }
    RC_ASSERT(left.run_positions(id).value() == whole.run_positions(id).value());
    const auto timeline = read_timeline(kept.log, left, id);
    RC_ASSERT(timeline.has_value() && timeline->has_value());
  }
  RC_ASSERT(left.counts().value() == counts);
  RC_ASSERT(left.list({}, 10'000).value().rows.size() == counts.queued + counts.running +
                                                             counts.succeeded + counts.failed +
                                                             counts.canceled + counts.paused);
  RC_ASSERT(left.strategies().list({}, 1000).value().rows ==
            whole.strategies().list({}, 1000).value().rows);
  // Also of locks that were held at the horizon.
  RC_ASSERT(holds_in(left.locks()) ==
            naive_lock_ledger(kept.history.records, plan.horizon));  // L10
}

// Two drops leave the same as a single drop that goes as far as the second.
RC_GTEST_PROP(HistoryBase, IsTheSameAfterOneDropAndAfterTwo, ()) {
  KeptHistory twice;
  const auto first_steps = *random_steps();
  const auto more_steps = *random_steps();
  twice.take(first_steps);
  RC_PRE(!twice.history.records.empty());
  const RetentionPlan first = plan_of(twice.log, time_of_some(twice.history));
  RC_PRE(first.horizon >= first.from);
  const Record dropped = record_of_drop(twice, first);
  drop(twice, first);
  twice.take(more_steps);
  // This history retries a run from all of its records, and keeps a run that used something after
  // the second horizon. A run whose records were dropped can't be retried, and isn't there again
  // for what it has used.
  for (const Record& record : twice.history.records) {
    if (record.position < dropped.position) continue;
    const auto* retried = event_as<RunRetried>(record.event);
    const bool is_usage = event_as<LateUsageReported>(record.event) != nullptr;
    if (retried == nullptr && !is_usage) continue;
    const Position of_run = is_usage ? record.cause : retried->started_at;
    RC_PRE(!twice.log.horizon().first_dropped(of_run, of_run));
  }

  KeptHistory once;
  once.take(first_steps);
  once.append({dropped});
  once.add(dropped);
  once.take(more_steps);
  RC_ASSERT(encode_world(once.history.world) == encode_world(twice.history.world));

  const std::int64_t until_ns = time_of_some(twice.history);
  const RetentionPlan second = plan_of(twice.log, until_ns);
  RC_PRE(second.horizon >= second.from);
  const RetentionPlan only = plan_of(once.log, until_ns);
  RC_ASSERT(only.horizon == second.horizon);
  RC_ASSERT(only.drop.base == second.drop.base);
  RC_ASSERT(only.drop.kept == second.drop.kept);
}

// A base without a record's texts is that of the same history in which they never were.
RC_GTEST_PROP(HistoryBase, IsRedactedAsIfTheTextsHadNeverBeenThere, ()) {  // G17
  KeptHistory kept;
  kept.take(*random_steps());
  RC_PRE(!kept.history.records.empty());
  const std::int64_t until_ns = time_of_some(kept.history);
  const RetentionPlan plan = plan_of(kept.log, until_ns);
  RC_PRE(plan.horizon >= plan.from);
  std::vector<Record> candidates;
  for (const PositionRange& range : plan.drop.kept) {
    for (Position position = range.first; position <= range.last; ++position) {
      const Record& record = kept.history.records.at(position - 1);
      if (!free_text_fields(record.event).empty()) candidates.push_back(record);
    }
  }
  RC_PRE(!candidates.empty());
  const Record record = *rc::gen::elementOf(candidates);
  const Event replacement =
      without_free_texts(record.event, free_text_fields(record.event), Blank::telling);

  MemoryEventLog other;
  for (Commit commit : kept.commits) {
    for (Record& each : commit) {
      if (each.position == record.position) each.event = replacement;
    }
    RC_ASSERT(other.append(other.tail(), {&commit, 1}).status == AppendStatus::ok);
  }
  const RetentionPlan expected = plan_of(other, until_ns);

  drop(kept, plan);
  const auto redacted = redacted_base(kept.log, record, replacement);
  RC_ASSERT(redacted.has_value());
  RC_ASSERT(*redacted == expected.drop.base);
}

Record server_record(Position position, ServerEvent event) {
  Record record;
  record.position = position;
  record.stream = Stream::server();
  record.recorded_at_ns = static_cast<std::int64_t>(position) * 1'000'000'000;
  record.actor = "uid:1000";
  record.event = Event(std::move(event));
  return record;
}

// A log whose service was paused, and the plan to drop all that is older than its last record.
struct PausedHistory {
  KeptHistory kept;
  RetentionPlan plan;

  explicit PausedHistory(bool is_resumed) {
    add(ServerEvent(ServerStarted{1, "1.0", PreviousEnd::none}));
    add(ServerEvent(ServicePaused{"the secret"}));
    if (is_resumed) add(ServerEvent(ServiceResumed{}));
    for (int count = 0; count < 3; ++count) add(ServerEvent(ClockJumped{}));
    MemoryTable scratch;
    plan = *plan_retention(kept.log, kept.history.records.back().recorded_at_ns - 1, scratch);
  }
  void add(ServerEvent event) {
    const Record record = server_record(kept.log.tail() + 1, std::move(event));
    const Commit commit{record};
    ASSERT_EQ(kept.log.append(kept.log.tail(), {&commit, 1}).status, AppendStatus::ok);
    kept.trees.push_back(kept.log.frontier());
    kept.add(record);
  }
  void drop() {
    const Record record = record_of_drop(kept, plan);
    ASSERT_TRUE(kept.log.drop(kept.log.tail(), {record}, plan.drop).has_value());
  }
};

// Who paused the service, since when and why outlasts the records; that of the pause can still be
// read, and so redacted.
TEST(HistoryBase, KeepsThePauseInForceWithItsRecord) {  // O2
  PausedHistory paused(/*is_resumed=*/false);
  paused.drop();
  const World world = initial_world(paused.kept.log).value();
  ASSERT_TRUE(world.server.pause.has_value());
  EXPECT_EQ(*world.server.pause, (ServicePause{2, 2'000'000'000, "uid:1000", "the secret"}));
  const auto record = paused.kept.log.read(2, 1);
  ASSERT_TRUE(record && record->size() == 1);
  EXPECT_NE(event_as<ServicePaused>(record->front().event), nullptr);
  EXPECT_EQ(paused.plan.drop.kept, (std::vector<PositionRange>{{2, 2}})) << "only that";
}

TEST(HistoryBase, DropsAPauseThatIsOver) {  // O2
  PausedHistory paused(/*is_resumed=*/true);
  EXPECT_TRUE(paused.plan.drop.kept.empty());
  paused.drop();
  EXPECT_FALSE(initial_world(paused.kept.log).value().server.pause.has_value());
}

TEST(HistoryBase, IsRedactedWithTheReasonOfThePause) {  // O2, G17
  PausedHistory paused(/*is_resumed=*/false);
  paused.drop();
  const Record& record = paused.kept.history.records.at(1);
  const Event replacement =
      without_free_texts(record.event, free_text_fields(record.event), Blank::telling);
  const auto redacted = redacted_base(paused.kept.log, record, replacement);
  ASSERT_TRUE(redacted.has_value());
  EXPECT_EQ(redacted->find("the secret"), std::string::npos);
  const World world = world_in_base(*redacted).value();
  ASSERT_TRUE(world.server.pause.has_value());
  EXPECT_EQ(world.server.pause->reason, "[redacted]");
  EXPECT_EQ(world.server.pause->by, "uid:1000");
}

TEST(HistoryBase, OfNothingIsNothing) {
  const MemoryEventLog log;
  EXPECT_EQ(world_digest(initial_world(log).value()), world_digest(World{}));
  MemoryTable table;
  RunIndex index(table);
  EXPECT_TRUE(index.begin(log));
  EXPECT_EQ(index.applied(), 0U);
}

}  // namespace
}  // namespace signalbox
