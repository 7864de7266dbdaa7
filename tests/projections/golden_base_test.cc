// The bytes of a base in every pair of formats that was ever written, kept in golden_bases.txt with
// the history that led to it.
//
// A row has the format of the world, the format of the rows, and the records and the base in
// hexadecimal. After one of the formats went up, run with SIGNALBOX_REWRITE_GOLDEN=1: it adds the
// missing row. An existing row is never changed, neither by this test nor by hand: a log whose
// records were dropped begins with such bytes, and they can't be computed again.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "projections/history_base.h"
#include "projections/memory_table.h"
#include "projections/run_index.h"
#include "projections/world_codec.h"
#include "projections/world_digest.h"
#include "store/little_endian.h"
#include "store/memory_event_log.h"
#include "tests/domain/random_history.h"
#include "tests/projections/golden_base.h"
#include "tests/store/hexadecimal.h"

namespace signalbox::test {
namespace {

// Returns a history with runs in every state, locks, ticks and tokens; and with a board, which
// random histories don't have.
std::vector<Record> golden_records() {
  RandomHistory history;
  const auto decided = [&history](const Command& command) {
    const std::int64_t now_ns =
        history.records.empty() ? 1'700'000'000'000'000'000 : history.records.back().recorded_at_ns;
    const auto events = decide(history.world, command, Now{now_ns});
    if (!events) throw std::runtime_error(events.error().message);
    for (const NewEvent& event : *events) {
      Record record;
      record.position = history.world.position + 1;
      record.stream = event.stream;
      record.recorded_at_ns = now_ns;
      record.actor = "uid:1000";
      record.cause = event.cause;
      record.span_id = event.span_id;
      record.event = event.event;
      evolve(history.world, record);
      history.records.push_back(std::move(record));
    }
  };
  decided(PutProject{"site", "/repository", "main", "origin", {}});
  decided(AdoptPolicy{"site", {}, {}});
  const auto submit = [&](std::uint8_t number, std::string key) {
    SubmitCard card{"site", "card " + std::to_string(number), "a brief", std::move(key), number, {},
                    {}};
    card.card_id.bytes.back() = number;
    decided(card);
    return card.card_id;
  };
  const CardId at_runner = submit(1, "login");
  const CardId blocked = submit(2, "");
  for (int step = 0; step < 150; ++step) {
    history.take({static_cast<std::uint8_t>(step * 7), static_cast<std::uint8_t>(step % 5),
                  static_cast<std::uint8_t>(step * 11)});
    if (step == 40) decided(BlockCard{blocked, "not now"});
    if (step == 45) decided(DrainRunner{runner_id("four", "0123456789abcdef"), {}});
    if (step == 46) decided(EvictRunner{runner_id("five", "0123456789abcdef"), {}});
    if (step == 50) {
      StartCard start{at_runner, {}, {}, {}};
      start.run.goal = "g";
      start.run.project = "site";
      start.run.run_id.bytes.back() = 77;
      start.run.pipeline_digest.bytes.front() = 77;
      start.run.pipeline = PipelineDefinition{"remote", {process_station("far")}};
      decided(start);
      decided(
          DispatchStation{start.run.run_id, uuid_of(9), {}, runner_id("one", "0123456789abcdef")});
    }
  }
  return history.records;
}

class GoldenBases : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (std::getenv("SIGNALBOX_REWRITE_GOLDEN") == nullptr) return;
    for (const GoldenBase& golden : read_bases()) {
      if (golden.world == world_format && golden.rows == RunIndex::format) return;
    }
    const auto records = golden_records();
    std::ofstream(golden_bases_file, std::ios::app)
        << world_format << ' ' << RunIndex::format << ' ' << to_hexadecimal(encode_records(records))
        << ' ' << to_hexadecimal(base_today(records)) << '\n';
  }

  [[nodiscard]] const GoldenBase& of_today() const {
    for (const GoldenBase& golden : bases_) {
      if (golden.world == world_format && golden.rows == RunIndex::format) return golden;
    }
    throw std::runtime_error("today's formats have no golden base: see the top of this file");
  }
  // Returns the error for a base that begins with these formats.
  [[nodiscard]] StoreError refusal_of(std::uint32_t world, std::uint32_t rows) const {
    std::string base;
    append_integer(base, world);
    append_integer(base, rows);
    base += of_today().base.substr(base.size());
    MemoryEventLog log;
    make_dropped(log, of_today().records, base);
    const auto begun = initial_world(log);
    EXPECT_FALSE(begun);
    MemoryTable table;
    RunIndex index(table);
    EXPECT_FALSE(index.begin(log));
    return begun ? StoreError{} : begun.error();
  }

  std::vector<GoldenBase> bases_ = read_bases();
};

TEST_F(GoldenBases, AreWhatTodaysBaseIs) {
  const GoldenBase& golden = of_today();
  EXPECT_TRUE(base_today(golden.records) == golden.base)
      << "the same history leads to another base, though neither format went up: where a shape of "
         "the world or of a row changed, raise world_format or RunIndex::format, and still read "
         "the bases that lie on people's disks (store/FORMAT.md, Dropped records)";
}

// Bases of every format lead to the same states and rows as today's base of their history.
TEST_F(GoldenBases, AreAllReadToThisDay) {
  ASSERT_FALSE(bases_.empty());
  for (const GoldenBase& golden : bases_) {
    SCOPED_TRACE(std::to_string(golden.world) + ", " + std::to_string(golden.rows));
    MemoryEventLog old;
    make_dropped(old, golden.records, golden.base);
    MemoryEventLog now;
    make_dropped(now, golden.records, base_today(golden.records));
    const auto world = initial_world(old);
    ASSERT_TRUE(world) << world.error().message;
    World of_today = initial_world(now).value();
    if (golden.world == 5) {
      // A base of format 5 has no holders of tokens; the records that granted those of locks and
      // ticks are dropped.
      EXPECT_LE(world->holders.size(), of_today.holders.size());
      std::erase_if(of_today.holders,
                    [&](const auto& entry) { return !world->holders.contains(entry.first); });
    }
    EXPECT_EQ(world_digest(*world), world_digest(of_today));
    MemoryTable tables[2];
    RunIndex of_old(tables[0]);
    RunIndex of_now(tables[1]);
    const auto begun = of_old.begin(old);
    ASSERT_TRUE(begun) << begun.error().message;
    ASSERT_TRUE(of_now.begin(now));
    EXPECT_EQ(of_old.list({}, 1000).value().rows, of_now.list({}, 1000).value().rows);
    EXPECT_EQ(of_old.counts().value(), of_now.counts().value());
    EXPECT_EQ(of_old.strategies().list({}, 1000).value().rows,
              of_now.strategies().list({}, 1000).value().rows);
  }
}

TEST_F(GoldenBases, HaveSomethingOfEverything) {
  MemoryEventLog log;
  make_dropped(log, of_today().records, of_today().base);
  const World world = initial_world(log).value();
  EXPECT_FALSE(world.runs.empty());
  EXPECT_GT(world.ended_runs.size(), 0U);
  EXPECT_GT(world.commands.size(), 0U);
  EXPECT_FALSE(world.pipelines.empty());
  EXPECT_FALSE(world.locks.empty());
  EXPECT_FALSE(world.ticks.empty());
  EXPECT_FALSE(world.projects.empty());
  EXPECT_EQ(world.board.cards().size(), 2U);
  ASSERT_FALSE(world.worktrees.empty());
  EXPECT_FALSE(world.worktrees.begin()->second.runner.empty());
  EXPECT_FALSE(world.access.tokens.empty());
  EXPECT_EQ(world.standing_of(runner_id("four", "0123456789abcdef")), RunnerStanding::drained);
  EXPECT_EQ(world.standing_of(runner_id("five", "0123456789abcdef")), RunnerStanding::evicted);
  EXPECT_TRUE(world.access.audit_key);
  EXPECT_FALSE(log.horizon().kept.empty());
  EXPECT_LT(log.horizon().kept.front().first, log.horizon().position);
}

TEST_F(GoldenBases, OfOtherFormatsAreRefusedWithWhatToDo) {
  constexpr auto unheard_of = std::numeric_limits<std::uint32_t>::max();
  for (const auto& [world, rows] : std::vector<std::pair<std::uint32_t, std::uint32_t>>{
           {world_format + 1, RunIndex::format},
           {world_format, RunIndex::format + 1},
           {world_format_min - 1, RunIndex::format},
           {world_format, RunIndex::format_min - 1},
           {unheard_of, unheard_of}}) {
    const StoreError error = refusal_of(world, rows);
    EXPECT_EQ(error.kind, StoreError::Kind::unsupported);
    for (const std::string& part :
         {std::to_string(world) + ", " + std::to_string(rows),
          "5 to " + std::to_string(world_format) + ", 5 to " + std::to_string(RunIndex::format),
          std::string("nothing was changed"), std::string("start the version that dropped")}) {
      EXPECT_NE(error.message.find(part), std::string::npos) << part << ": " << error.message;
    }
  }
}

}  // namespace
}  // namespace signalbox::test
