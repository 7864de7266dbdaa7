// The projector computes damaged read models from the log again while it serves queries, and
// answers none from a part of them.
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <mutex>
#include <utility>
#include <vector>

#include "projections/buffering_table.h"
#include "projections/rocks_table.h"
#include "tests/eventually.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

// The rows, and something that is done as they begin to be rebuilt for the first time.
class WatchedRows final : public Table {
 public:
  explicit WatchedRows(Table& rows) : rows_(rows) {}

  std::function<void()> at_rebuild;

  [[nodiscard]] Stored<std::optional<std::string>> get(std::string_view key) const override {
    return rows_.get(key);
  }
  Stored<void> scan(std::string_view prefix, std::string_view from, ScanOrder order,
                    const Visit& visit) const override {
    return rows_.scan(prefix, from, order, visit);
  }
  Stored<void> write(const TableBatch& batch, Position applied) override {
    return rows_.write(batch, applied);
  }
  [[nodiscard]] Position applied() const override { return rows_.applied(); }
  Stored<void> reopen() override { return rows_.reopen(); }
  [[nodiscard]] std::optional<std::string> held() const override { return rows_.held(); }
  [[nodiscard]] std::optional<std::string> damage() const override { return rows_.damage(); }
  void note_damage(const std::string& what) override { rows_.note_damage(what); }
  void check_files(const std::function<bool()>& go_on) const override { rows_.check_files(go_on); }
  Stored<std::unique_ptr<Table>> begin_rebuild() override {
    if (const auto once = std::exchange(at_rebuild, {})) once();
    return rows_.begin_rebuild();
  }
  void finish_rebuild(std::unique_ptr<Table> filled) override {
    rows_.finish_rebuild(std::move(filled));
  }
  void replace(std::unique_ptr<Table> filled) override { rows_.replace(std::move(filled)); }

 private:
  Table& rows_;
};

class ProjectorRebuild : public ::testing::Test, protected RpcSite {
 protected:
  ~ProjectorRebuild() override { follower.reset(); }

  void append(int runs) {
    for (int run = 0; run < runs; ++run) {
      send(R"({"jsonrpc":"2.0","id":1,"method":"run.start","params":{"goal":"g"}})");
      engine.flush();
      finish();
    }
  }

  void follow() {
    rows = std::move(RocksTable::open_or_recreate(directory.path() / "t", 1)->table);
    watched = std::make_unique<WatchedRows>(*rows);
    table = std::make_unique<BufferingTable>(*watched);
    damaged_index = std::make_unique<RunIndex>(*table);
    follower = std::make_unique<Projector>(
        log, *damaged_index, [](const StoreError& error) { ADD_FAILURE() << error.message; },
        [](bool, const std::string&) {},
        [this](const Rebuild& rebuild) {
          const std::lock_guard lock(mutex);
          rebuilt.push_back(rebuild);
        });
  }

  void remove_rows() {
    follower.reset();
    damaged_index.reset();
    table.reset();
    rows.reset();
    std::filesystem::remove_all(directory.path() / "t");
  }

  // Returns the number of queued runs that a query sees; nullopt if it was refused as rebuilding.
  std::optional<std::uint64_t> queued_runs() {
    std::promise<std::optional<std::uint64_t>> answered;
    follower->query(
        log.tail(),
        [&](const RunIndex& read) {
          const auto counts = read.counts();
          if (!counts) {
            EXPECT_EQ(counts.error().kind, StoreError::Kind::rebuilding);
          }
          answered.set_value(counts ? std::optional(counts->queued + counts->running)
                                    : std::nullopt);
        },
        [&](const StoreError& why) {
          EXPECT_EQ(why.kind, StoreError::Kind::rebuilding) << why.message;
          answered.set_value(std::nullopt);
        });
    return answered.get_future().get();
  }

  // Asks about the log's tail, then does `meanwhile` and follows the log. Returns the numbers of
  // runs that the query saw. For a follower whose thread isn't started.
  template <class Meanwhile>
  std::vector<std::uint64_t> seen_by_query_of_tail(Meanwhile meanwhile) {
    std::vector<std::uint64_t> seen;
    follower->query(
        log.tail(), [&](const RunIndex& read) { seen.push_back(open_runs(read)); },
        [](const StoreError& why) { ADD_FAILURE() << why.message; });
    meanwhile();
    EXPECT_TRUE(follower->catch_up());
    return seen;
  }
  static std::uint64_t open_runs(const RunIndex& read) {
    const RunCounts counts = read.counts().value();
    return counts.queued + counts.running;
  }
  // Offers rows that were computed from the log's first records.
  void offer_rows(std::size_t records) {
    auto fresh = RocksTable::open_or_recreate(directory.path() / "t.next", 1);
    ASSERT_TRUE(fresh);
    ASSERT_TRUE(RunIndex(*fresh->table).apply(log.read(1, records).value()));
    follower->replace_rows(std::move(fresh->table));
  }

  std::size_t rebuilds_done() {
    const std::lock_guard lock(mutex);
    return rebuilt.size();
  }

  TemporaryDirectory directory;
  std::unique_ptr<RocksTable> rows;
  std::unique_ptr<WatchedRows> watched;
  std::unique_ptr<BufferingTable> table;
  std::unique_ptr<RunIndex> damaged_index;
  std::unique_ptr<Projector> follower;
  std::mutex mutex;
  std::vector<Rebuild> rebuilt;
};

TEST_F(ProjectorRebuild, AnswersAreCompleteOrRefusedAndCompleteInTheEnd) {  // G3
  append(200);
  follow();
  follower->start();
  EXPECT_TRUE(follower->wait_for(log.tail()));
  for (int round = 1; round <= 5; ++round) {
    append(1);
    table->note_damage("round " + std::to_string(round));
    EXPECT_TRUE(eventually([&] {
      const auto runs = queued_runs();
      if (runs) {
        EXPECT_EQ(*runs, 200U + static_cast<std::uint64_t>(round));
      }
      return rebuilds_done() == static_cast<std::size_t>(round) && runs;
    }));
  }
  EXPECT_EQ(follower->rebuilds(), 5U);
  EXPECT_EQ(follower->rebuilding().has_value(), false);
  EXPECT_EQ(follower->held(), std::nullopt);
  const std::lock_guard lock(mutex);
  EXPECT_EQ(rebuilt.back().reason, "round 5");
  EXPECT_EQ(rebuilt.back().through, log.tail());
}

// As after a change of their format. A short log's are made before anybody is answered.
TEST_F(ProjectorRebuild, NewRowsOfALongLogAreMadeWhileTheServiceGoesOn) {  // G3
  append(20);
  follow();
  ASSERT_TRUE(follower->catch_up_at_start(log.tail()));
  EXPECT_EQ(damaged_index->applied(), log.tail());
  remove_rows();
  follow();
  ASSERT_TRUE(follower->catch_up_at_start(log.tail() - 1));
  EXPECT_EQ(damaged_index->applied(), 0U);
  follower->start();
  EXPECT_TRUE(follower->follow_to(log.tail()));
  EXPECT_EQ(queued_runs(), 20U);
  EXPECT_EQ(rebuilds_done(), 1U);
}

// Rows that only lag aren't made anew.
TEST_F(ProjectorRebuild, RowsThatAreFarBehindGoOnWhileTheServiceDoes) {  // G3
  append(20);
  follow();
  ASSERT_TRUE(follower->catch_up());
  append(20);
  ASSERT_TRUE(follower->catch_up_at_start(1));
  EXPECT_LT(damaged_index->applied(), log.tail());
  follower->start();
  EXPECT_EQ(queued_runs(), 40U);
  EXPECT_EQ(rebuilds_done(), 0U);
}

// Rows that were computed beside are exchanged at no earlier a position, and no query is refused.
TEST_F(ProjectorRebuild, RowsAreExchangedBetweenQueries) {
  append(100);
  follow();
  follower->start();
  EXPECT_TRUE(follower->wait_for(log.tail()));
  for (std::uint64_t round = 1; round <= 3; ++round) {
    auto fresh = RocksTable::open_or_recreate(directory.path() / "t.next", 1);
    ASSERT_TRUE(fresh);
    ASSERT_TRUE(RunIndex(*fresh->table).apply(log.read(1, 50).value()));
    append(1);
    follower->replace_rows(std::move(fresh->table));
    EXPECT_EQ(queued_runs(), 99U + 2 * round);
    append(1);
    EXPECT_EQ(queued_runs(), 100U + 2 * round);
    EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(directory.path() / "t.next"); }));
  }
  EXPECT_EQ(follower->rebuilds(), 0U);
}

// G7: an answer names a position. Rows that have more than that don't give it.
TEST_F(ProjectorRebuild, RowsThatAreAheadAnswerNoEarlierQuery) {
  append(10);
  follow();
  ASSERT_TRUE(follower->catch_up());
  append(1);
  const std::vector<std::uint64_t> seen = seen_by_query_of_tail([this] {
    append(1);
    offer_rows(log.tail());
  });
  EXPECT_EQ(seen, std::vector<std::uint64_t>{11});
}

// G7: neither do rows that are behind, and are brought up to the present ones.
TEST_F(ProjectorRebuild, RowsThatAreBehindAnswerNoEarlierQuery) {
  append(10);
  follow();
  ASSERT_TRUE(follower->catch_up());
  append(1);
  const std::vector<std::uint64_t> seen = seen_by_query_of_tail([this] {
    append(1);
    offer_rows(5);
  });
  EXPECT_EQ(seen, std::vector<std::uint64_t>{11});
  EXPECT_EQ(open_runs(*damaged_index), 12U);
}

// K7: whoever had rows replaced learns when none of the former ones is left, also if the present
// ones are damaged meanwhile.
TEST_F(ProjectorRebuild, SaysWhenNoFormerRowIsLeft) {
  append(100);
  follow();
  TableBatch secret;
  secret.put("zz", "a text that was redacted");
  follower->start();
  EXPECT_TRUE(follower->wait_for(log.tail()));
  for (const bool damaged : {false, true}) {
    // Nobody else writes while the projector has nothing to do.
    ASSERT_TRUE(table->write(secret, log.tail()).has_value());
    auto fresh = RocksTable::open_or_recreate(directory.path() / "t.next", 1);
    ASSERT_TRUE(fresh);
    ASSERT_TRUE(RunIndex(*fresh->table).apply(log.read(1, 50).value()));
    if (damaged) table->note_damage("before it was their turn");
    std::promise<void> replaced;
    follower->replace_rows(std::move(fresh->table), [&] { replaced.set_value(); });
    replaced.get_future().wait();
    EXPECT_EQ(table->get("zz").value(), std::nullopt);
    EXPECT_EQ(queued_runs(), 100U);
  }
  EXPECT_EQ(follower->rebuilds(), 1U);
}

TEST_F(ProjectorRebuild, RowsThatAreKnownToBeDamagedAreNeverRead) {  // G3
  append(50);
  follow();
  TableBatch wrong;
  wrong.put("rows of", "another log");
  ASSERT_TRUE(table->write(wrong, log.tail() + 10).has_value());
  table->note_damage("they were ahead of the log");
  follower = std::make_unique<Projector>(log, *damaged_index, [](const StoreError&) {});
  follower->start();
  EXPECT_TRUE(follower->follow_to(log.tail()));
  EXPECT_TRUE(eventually([&] { return !follower->rebuilding(); }));
  EXPECT_EQ(queued_runs(), 50U);
  EXPECT_EQ(follower->rebuilds(), 1U);
  follower.reset();
}

// Rows that were filled before it was asked for may have what it is about.
TEST_F(ProjectorRebuild, OneThatIsAskedForDuringAnotherOneFollowsIt) {  // G17
  append(50);
  follow();
  table->note_damage("to begin with");
  watched->at_rebuild = [&] { follower->recompute_rows("a text was redacted"); };
  follower->start();
  ASSERT_TRUE(eventually([&] { return rebuilds_done() == 2; }));
  follower.reset();
  EXPECT_EQ(rebuilt[1].reason, "a text was redacted");
}

TEST_F(ProjectorRebuild, AFollowerWaitsForItUnlessTheServiceStops) {  // G3
  append(20);
  follow();
  follower->start();
  EXPECT_TRUE(follower->wait_for(log.tail()));
  table->note_damage("while followers wait");
  append(1);
  EXPECT_TRUE(follower->follow_to(log.tail()));
  follower->end_waiting();
  EXPECT_TRUE(follower->follow_to(log.tail())) << "nothing is rebuilt";
}

}  // namespace
}  // namespace signalbox
