// The strategy ledger: which strategy succeeded after which class of error, over both tables, and
// the same when it is rebuilt from the log.
#include <gtest/gtest.h>

#include <memory>

#include "projections/memory_table.h"
#include "projections/rocks_table.h"
#include "projections/run_index.h"
#include "tests/domain/given_when_then.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/projections/two_stations.h"

namespace signalbox {
namespace {

class StrategyLedgerTest : public ::testing::TestWithParam<const char*> {
 protected:
  StrategyLedgerTest() : table(make("t")), index(std::make_unique<RunIndex>(*table)) {}

  std::unique_ptr<Table> make(const std::string& name) {
    if (GetParam() == std::string("memory")) return std::make_unique<MemoryTable>();
    return std::move(RocksTable::open_or_recreate(directory.path() / name, 1)->table);
  }

  void happens(const RunId& run, Event event) {
    Record record;
    record.position = static_cast<Position>(log.size()) + 1;
    record.stream = Stream::run(run);
    record.recorded_at_ns = static_cast<std::int64_t>(record.position);
    record.event = std::move(event);
    log.push_back(std::move(record));
  }
  void starts(const RunId& run, const std::string& project) {
    Event event = started(two_stations());
    std::get<RunStarted>(std::get<RunEvent>(event)).project = project;
    happens(run, std::move(event));
  }
  // Adds an attempt that failed with this class, or succeeded if there is none.
  void tries(const RunId& run, const std::string& station, std::uint32_t attempt, Strategy strategy,
             std::optional<ErrorClass> failed_with) {
    happens(run, claimed(station, attempt, strategy));
    if (!failed_with) return happens(run, succeeded(station, attempt));
    happens(run, StationEvent{StationAttemptFailed{station,
                                                   attempt,
                                                   {Outcome::failed, *failed_with, "X", ""},
                                                   {},
                                                   5,
                                                   Strategy::original}});
    happens(run, StationEvent{StationReady{station}});
  }

  void apply_all() { ASSERT_TRUE(index->apply(log).has_value()); }
  std::vector<StrategyRow> rows(const StrategyFilter& filter = {}) const {
    return index->strategies().list(filter, 100).value().rows;
  }

  const RunId one = uuid_of(1);
  const RunId two = uuid_of(2);
  TemporaryDirectory directory;
  std::unique_ptr<Table> table;
  std::unique_ptr<RunIndex> index;
  std::vector<Record> log;
};

INSTANTIATE_TEST_SUITE_P(Tables, StrategyLedgerTest, ::testing::Values("memory", "rocks"),
                         [](const auto& each) { return std::string(each.param); });

using enum ErrorClass;
using enum Strategy;

TEST_P(StrategyLedgerTest, CountsWhatFollowedAFailureOfAClass) {
  starts(one, "web");
  tries(one, "a", 1, original, terminal);
  tries(one, "a", 2, simplified, transient);
  tries(one, "a", 3, simplified, std::nullopt);
  apply_all();
  EXPECT_EQ(rows(), (std::vector<StrategyRow>{{"web", "a", transient, simplified, {1, 1}},
                                              {"web", "a", terminal, simplified, {1, 0}}}));
}

TEST_P(StrategyLedgerTest, AFirstAttemptRescuesNothing) {
  starts(one, "web");
  tries(one, "a", 1, original, std::nullopt);
  tries(one, "b", 1, original, transient);  // the failure of one station isn't the other's
  tries(one, "b", 2, original, std::nullopt);
  apply_all();
  EXPECT_EQ(rows(), (std::vector<StrategyRow>{{"web", "b", transient, original, {1, 1}}}));
}

TEST_P(StrategyLedgerTest, AnAttemptWithoutAnEndOfItsOwnSaysNothing) {
  starts(one, "web");
  tries(one, "a", 1, original, transient);
  happens(one, claimed("a", 2));
  happens(one, StationEvent{StationDeferred{"a", 2, WaitReason::deferred, 9, ""}});
  happens(one, StationEvent{StationReady{"a"}});
  apply_all();
  EXPECT_TRUE(rows().empty());
  tries(one, "a", 3, original, std::nullopt);
  apply_all();
  EXPECT_EQ(rows(), (std::vector<StrategyRow>{{"web", "a", transient, original, {1, 1}}}));
}

TEST_P(StrategyLedgerTest, ARetriedRunGoesOnFromItsFailure) {
  starts(one, "web");
  happens(one, claimed("a"));
  happens(one, StationEvent{StationFailed{"a", 1, {Outcome::failed, config, "X", ""}, {}}});
  happens(one, RunEvent{RunFailed{"a", config, "X", ""}});
  RunRetried retried;
  retried.station = "a";
  retried.attempts = {1, 0};
  happens(one, RunEvent{retried});
  tries(one, "a", 2, original, std::nullopt);
  apply_all();
  EXPECT_EQ(rows(), (std::vector<StrategyRow>{{"web", "a", config, original, {1, 1}}}));
}

TEST_P(StrategyLedgerTest, SumsUpOverRunsAndBatchesAndIsFiltered) {
  for (const RunId& run : {one, two}) {
    starts(run, run == one ? "web" : "api");
    tries(run, "a", 1, original, terminal);
    tries(run, "a", 2, simplified, std::nullopt);
    apply_all();
    tries(run, "b", 1, original, terminal);
    tries(run, "b", 2, simplified, terminal);
    tries(run, "b", 3, simplified, std::nullopt);
    apply_all();
  }
  EXPECT_EQ(rows().size(), 4u);
  EXPECT_EQ(rows({"web", {}}).size(), 2u);
  EXPECT_EQ(rows({{}, "b"}).size(), 2u);
  EXPECT_EQ(rows({"api", "b"}),
            (std::vector<StrategyRow>{{"api", "b", terminal, simplified, {2, 1}}}));
  EXPECT_TRUE(rows({"we", {}}).empty());
  std::vector<StrategyRow> paged;
  std::string cursor;
  do {
    const auto page = index->strategies().list({}, 1, cursor).value();
    paged.insert(paged.end(), page.rows.begin(), page.rows.end());
    cursor = page.next_cursor;
  } while (!cursor.empty());
  EXPECT_EQ(paged, rows());
}

TEST_P(StrategyLedgerTest, MadeAnewFromTheLogIsTheSame) {
  for (const RunId& run : {one, two}) {
    starts(run, "web");
    tries(run, "a", 1, original, terminal);
    tries(run, "a", 2, simplified, std::nullopt);
    apply_all();
  }
  const std::unique_ptr<Table> fresh = make("fresh");
  RunIndex again(*fresh);
  ASSERT_TRUE(again.apply(log).has_value());
  EXPECT_EQ(again.strategies().list({}, 100).value().rows, rows());
  EXPECT_EQ(again.find(one).value(), index->find(one).value());
}

}  // namespace
}  // namespace signalbox
