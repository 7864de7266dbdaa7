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
#include <sstream>
#include <string>
#include <vector>

#include "projections/history_base.h"
#include "projections/memory_table.h"
#include "projections/retention_plan.h"
#include "projections/run_index.h"
#include "projections/world_codec.h"
#include "projections/world_digest.h"
#include "store/frame.h"
#include "store/little_endian.h"
#include "store/memory_event_log.h"
#include "store/merkle_tree.h"
#include "tests/domain/random_history.h"
#include "tests/store/decoded_record.h"
#include "tests/store/hexadecimal.h"

namespace signalbox::test {
namespace {

constexpr const char* golden_file = SIGNALBOX_SOURCE_DIR "/tests/projections/golden_bases.txt";

struct GoldenBase {
  std::uint32_t world = 0;
  std::uint32_t rows = 0;
  std::vector<Record> records;
  std::string base;
};

std::string encode_records(const std::vector<Record>& records) {
  std::string bytes;
  for (const Record& record : records) encode_record(record, Salt{}, bytes);
  return bytes;
}

std::vector<Record> decode_records(std::string_view bytes) {
  std::vector<Record> records;
  while (!bytes.empty()) {
    std::size_t consumed = 0;
    auto record = decode_record(bytes, consumed);
    if (!record) throw std::runtime_error(record.error().message);
    records.push_back(std::move(*record));
    bytes.remove_prefix(consumed);
  }
  return records;
}

std::vector<GoldenBase> read_bases() {
  std::vector<GoldenBase> bases;
  std::ifstream file(golden_file);
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    GoldenBase golden;
    std::string records;
    std::string base;
    fields >> golden.world >> golden.rows >> records >> base;
    golden.records = decode_records(from_hexadecimal(records));
    golden.base = from_hexadecimal(base);
    bases.push_back(std::move(golden));
  }
  return bases;
}

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
  submit(1, "login");
  const CardId blocked = submit(2, "");
  for (int step = 0; step < 150; ++step) {
    history.take({static_cast<std::uint8_t>(step * 7), static_cast<std::uint8_t>(step % 5),
                  static_cast<std::uint8_t>(step * 11)});
    if (step == 40) decided(BlockCard{blocked, "not now"});
  }
  return history.records;
}

void append(EventLog& log, const Record& record) {
  const Commit commit{record};
  ASSERT_EQ(log.append(log.tail(), {&commit, 1}).status, AppendStatus::ok);
}

// Returns the plan that drops the oldest three quarters: some runs have ended there, some are open.
RetentionPlan plan_of(const EventLog& log, const std::vector<Record>& records) {
  MemoryTable scratch;
  auto plan = plan_retention(log, records[records.size() * 3 / 4].recorded_at_ns, scratch);
  if (!plan) throw std::runtime_error(plan.error().message);
  return std::move(*plan);
}

// Makes `log` one whose old records were dropped by a version that wrote `base`.
void make_dropped(MemoryEventLog& log, const std::vector<Record>& records,
                  const std::string& base) {
  MerkleFrontier tree;
  RetentionPlan plan;
  {
    MemoryEventLog whole;
    for (const Record& record : records) append(whole, record);
    plan = plan_of(whole, records);
  }
  for (const Record& record : records) {
    append(log, record);
    if (record.position == plan.horizon) tree = log.frontier();
  }
  plan.drop.base = base;
  Sha256 hashing;
  HistoryDropped event;
  event.horizon = plan.horizon;
  event.root = merkle_root(tree, hashing);
  event.base = sha256(base);
  Record notice;
  notice.position = log.tail() + 1;
  notice.stream = Stream::server();
  notice.recorded_at_ns = records.back().recorded_at_ns;
  notice.event = Event(ServerEvent(event));
  const auto dropped = log.drop(log.tail(), {notice}, plan.drop);
  ASSERT_TRUE(dropped) << dropped.error().message;
}

std::string base_today(const std::vector<Record>& records) {
  MemoryEventLog log;
  for (const Record& record : records) append(log, record);
  return plan_of(log, records).drop.base;
}

class GoldenBases : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (std::getenv("SIGNALBOX_REWRITE_GOLDEN") == nullptr) return;
    for (const GoldenBase& golden : read_bases()) {
      if (golden.world == world_format && golden.rows == RunIndex::format) return;
    }
    const auto records = golden_records();
    std::ofstream(golden_file, std::ios::app)
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

// Returns a history in which a run asks for a decision, early enough to be before the horizon.
std::vector<Record> asking_records() {
  World world;
  std::vector<Record> records;
  const auto decided = [&](const Command& command) {
    const auto events = decide(world, command, Now{});
    if (!events) throw std::runtime_error(events.error().message);
    for (const NewEvent& event : *events) {
      Record record;
      record.position = world.position + 1;
      record.stream = event.stream;
      record.recorded_at_ns =
          1'700'000'000'000'000'000 + static_cast<std::int64_t>(record.position) * 1'000'000'000;
      record.actor = "uid:1000";
      record.cause = event.cause;
      record.event = event.event;
      evolve(world, record);
      records.push_back(std::move(record));
    }
  };
  decided(NoteClockJump{1, 1, "before"});
  StationDefinition ask;
  ask.name = "ask";
  ask.executor = ExecutorKind::approval;
  StartRun start;
  start.goal = "release";
  start.run_id.bytes.back() = 1;
  start.pipeline_digest.bytes.front() = 1;
  start.pipeline = PipelineDefinition{"asked", {ask}};
  decided(start);
  for (int padding = 0; padding < 12; ++padding) decided(NoteClockJump{1, 1, "after"});
  return records;
}

// Returns `base`, whose world has one open question, as a version with format 6 wrote it.
std::string as_format_6(const std::string& base) {
  constexpr std::size_t header = 2 * sizeof(std::uint32_t) + sizeof(std::uint64_t);
  constexpr std::size_t questions = sizeof(std::uint64_t) + sizeof(RunId) + sizeof(Position);
  const auto world_bytes =
      read_integer<std::uint64_t>(base.data() + 2 * sizeof(std::uint32_t)) - questions;
  std::string old;
  append_integer(old, std::uint32_t{6});
  append_integer(old, RunIndex::format);
  append_integer(old, world_bytes);
  old += base.substr(header, world_bytes);
  old += base.substr(header + world_bytes + questions);
  return old;
}

// What the base doesn't say is in the records of the run, which are kept because it is open.
TEST_F(GoldenBases, OfFormat6GetTheirQuestionsFromTheRecords) {  // G10
  const std::vector<Record> records = asking_records();
  const std::string today = base_today(records);
  MemoryEventLog old;
  make_dropped(old, records, as_format_6(today));
  MemoryEventLog now;
  make_dropped(now, records, today);
  const auto world = initial_world(old);
  ASSERT_TRUE(world) << world.error().message;
  const auto* const run = world->find_run(records.at(1).stream.run_id);
  ASSERT_NE(run, nullptr);
  ASSERT_NE(event_as<StationHeld>(records.at(2).event), nullptr);
  EXPECT_EQ(run->asked_at, records.at(2).position);
  EXPECT_EQ(world_digest(*world), world_digest(initial_world(now).value()));
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
  EXPECT_FALSE(world.access.tokens.empty());
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
           {unheard_of, unheard_of}}) {
    const StoreError error = refusal_of(world, rows);
    EXPECT_EQ(error.kind, StoreError::Kind::unsupported);
    for (const std::string& part :
         {std::to_string(world) + ", " + std::to_string(rows),
          std::to_string(world_format) + ", " + std::to_string(RunIndex::format),
          std::string("nothing was changed"), std::string("start the version that dropped")}) {
      EXPECT_NE(error.message.find(part), std::string::npos) << part << ": " << error.message;
    }
  }
}

}  // namespace
}  // namespace signalbox::test
