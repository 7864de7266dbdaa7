// The lock ledger: who held which lock when, for any batches, as of any version, and after records
// were dropped. // L10
#include "projections/lock_ledger.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "projections/memory_table.h"
#include "projections/run_index.h"
#include "projections/versioned_table.h"
#include "tests/domain/random_history.h"
#include "tests/projections/naive_lock_ledger.h"

namespace signalbox {
namespace {

constexpr std::int64_t one_second_ns = LogCalendar::second_ns;
constexpr std::int64_t one_hour_ns = 3600 * one_second_ns;

class LockLedgerTest : public ::testing::Test {
 protected:
  Position happens(std::int64_t at_ns, const LockEvent& noun) {
    Record record;
    record.position = ++tail;
    record.stream = Stream::lock(std::visit([](const auto& event) { return event.key; }, noun));
    record.recorded_at_ns = at_ns;
    record.actor = "uid:1";
    record.event = noun;
    pending.push_back(record);
    return record.position;
  }
  Token acquired(std::int64_t at_ns, const std::string& key, const std::string& owner) {
    return happens(at_ns, LockAcquired{key, owner, 1000, "the reason", ""});
  }
  void released(std::int64_t at_ns, const std::string& key, Token token) {
    happens(at_ns, LockReleased{key, "", token, ""});
  }
  // Applies the pending records as one batch.
  void apply() {
    const auto applied = index.apply(pending);
    EXPECT_TRUE(applied.has_value()) << applied.error().message;
    pending.clear();
  }
  std::vector<Token> tokens(std::int64_t from_ns, std::int64_t until_ns) {
    std::vector<Token> found;
    for (const auto& [token, hold] : holds_in(index.locks(), from_ns, until_ns)) {
      found.push_back(token);
    }
    return found;
  }

  using Tokens = std::vector<Token>;
  MemoryTable table;
  RunIndex index{table};
  std::vector<Record> pending;
  Position tail = 0;
};

TEST_F(LockLedgerTest, HasWhoHeldALockFromTheGrantToTheEnd) {  // L10
  const Token first = acquired(1 * one_second_ns, "deploy", "ann");
  released(5 * one_second_ns, "deploy", first);
  const Token second = acquired(6 * one_second_ns, "deploy", "ann");
  apply();
  // Taken over by another.
  happens(9 * one_second_ns, LockExpired{"deploy", "ann", second, ""});
  const Token third = acquired(9 * one_second_ns, "deploy", "bob");
  const Token other = acquired(10 * one_second_ns, "backup", "cron");
  apply();
  const auto holds = holds_in(index.locks());
  using enum LockHoldStatus;
  ASSERT_EQ(holds.size(), 4U);
  EXPECT_EQ(holds.at(first), (LockHold{"deploy", "ann", first, LockHoldStatus::released,
                                       one_second_ns, 5 * one_second_ns}));
  EXPECT_EQ(holds.at(second),
            (LockHold{"deploy", "ann", second, expired, 6 * one_second_ns, 9 * one_second_ns}));
  EXPECT_EQ(holds.at(third).owner, "bob");
  EXPECT_EQ(holds.at(third).status, held);
  EXPECT_EQ(holds.at(other).key, "backup");
  EXPECT_EQ(tokens(7 * one_second_ns, 8 * one_second_ns), (Tokens{second}));
  EXPECT_EQ(tokens(5 * one_second_ns, 6 * one_second_ns), (Tokens{first}))
      << "the end is exclusive";
}

TEST_F(LockLedgerTest, RefreshesCostNothing) {  // L10
  const Token token = acquired(1 * one_second_ns, "deploy", "ann");
  apply();
  LockLedger ledger(table);
  ledger.begin();
  TableBatch rows;
  happens(2 * one_second_ns, LockRefreshed{"deploy", "ann", token, 1000});
  ASSERT_TRUE(ledger.apply(pending.back(), rows));
  ledger.put(rows);
  EXPECT_TRUE(rows.empty());
}

TEST_F(LockLedgerTest, FindsHoldsThatBeganLongBeforeATimeOrEndedLongAfterIt) {  // L10
  const std::int64_t day_ns = 24 * one_hour_ns;
  const Token open = acquired(1 * one_hour_ns, "open", "ann");
  const Token across = acquired(2 * one_hour_ns, "across", "ann");
  const Token early = acquired(3 * one_hour_ns, "short", "ann");
  released(3 * one_hour_ns + one_second_ns, "short", early);
  const Token within = acquired(20 * day_ns, "short", "ann");
  released(20 * day_ns + one_hour_ns, "short", within);
  const Token reaching = acquired(20 * day_ns + 2 * one_hour_ns - one_second_ns, "short", "ann");
  released(20 * day_ns + 2 * one_hour_ns + 1800 * one_second_ns, "short", reaching);
  const Token late = acquired(21 * day_ns, "short", "ann");
  released(21 * day_ns + one_second_ns, "short", late);
  released(40 * day_ns, "across", across);
  apply();
  EXPECT_EQ(tokens(20 * day_ns, 20 * day_ns + 2 * one_hour_ns),
            (Tokens{open, across, within, reaching}));
  EXPECT_EQ(tokens(10 * day_ns, 11 * day_ns), (Tokens{open, across}));
  EXPECT_EQ(tokens(41 * day_ns, 42 * day_ns), (Tokens{open}));
}

TEST_F(LockLedgerTest, NoMoreHoldsAreLookedAtThanAllowed) {  // L10
  for (std::int64_t each = 1; each <= 10; ++each) {
    released(each * one_second_ns, "deploy", acquired(each * one_second_ns, "deploy", "ann"));
  }
  acquired(11 * one_second_ns, "deploy", "bob");
  apply();
  const auto is_whole = [this](std::size_t entries_max) {
    return index.locks().for_each(0, one_hour_ns, entries_max, [](const LockHold&) {}).value();
  };
  EXPECT_TRUE(is_whole(11));
  EXPECT_FALSE(is_whole(10));
  EXPECT_FALSE(is_whole(0));
}

TEST_F(LockLedgerTest, AnEndWithoutAGrantIsDamage) {
  released(1 * one_second_ns, "deploy", 4711);
  const auto applied = index.apply(pending);
  ASSERT_FALSE(applied.has_value());
  EXPECT_EQ(applied.error().kind, StoreError::Kind::damaged);
}

// A history whose clock goes faster or slower, and is set back now and then.
std::vector<Record> records_of_locks() {
  RandomHistory history;
  for (const Step& step : *random_steps()) history.take(step);
  const auto apart_ns = *rc::gen::element(1 * one_second_ns, 60 * one_second_ns, 1 * one_hour_ns);
  const auto set_back_every = *rc::gen::inRange<Position>(5, 200);
  std::int64_t now_ns = 100 * one_hour_ns;
  for (Record& record : history.records) {
    now_ns += record.position % set_back_every == 0 ? -2 * one_hour_ns : apart_ns;
    record.recorded_at_ns = now_ns;
  }
  return std::move(history.records);
}

// Counting has the same result as the ledger, whose records come in batches of any sizes, for any
// time, and as of any earlier batch.
RC_GTEST_PROP(LockLedgerProperty, EqualsANaiveOneAtEveryVersion, ()) {  // L10
  const std::vector<Record> records = records_of_locks();
  RC_PRE(!records.empty());
  MemoryTable stored;
  VersionedTable versions(stored);
  RunIndex index(versions);
  std::vector<Position> ends;
  std::span<const Record> rest(records);
  while (!rest.empty()) {
    const auto size = std::min<std::size_t>(rest.size(), *rc::gen::inRange<std::size_t>(1, 40));
    RC_ASSERT(index.apply(rest.first(size)).has_value());
    ends.push_back(index.applied());
    rest = rest.subspan(size);
  }
  const auto time = [&records] {
    return (*rc::gen::elementOf(records)).recorded_at_ns +
           *rc::gen::element<std::int64_t>(-one_hour_ns, -1, 0, 1, 1 * one_second_ns);
  };
  const Position at = *rc::gen::elementOf(ends);
  const auto rows = versions.at(at);
  const std::int64_t from_ns = time();
  const std::int64_t until_ns = std::max(from_ns + 1, time());
  std::map<Token, LockHold> expected = naive_lock_ledger(std::span(records).first(at));
  RC_ASSERT(holds_in(LockLedger(*rows), -one_hour_ns * 100'000) == expected);
  std::erase_if(expected, [&](const auto& each) {
    const LockHold& hold = each.second;
    return hold.acquired_at_ns >= until_ns || hold.ended_at_ns < from_ns;
  });
  RC_ASSERT(holds_in(LockLedger(*rows), from_ns, until_ns) == expected);
}

}  // namespace
}  // namespace signalbox
