// The card index: cards on the board and cards that have left it, over both tables, for batches of
// any size, and the same when it is rebuilt from the log.
#include <gtest/gtest.h>

#include <memory>

#include "projections/memory_table.h"
#include "projections/rocks_table.h"
#include "projections/run_index.h"
#include "tests/domain/given_when_then.h"
#include "tests/fixtures/temporary_directory.h"

namespace signalbox {
namespace {

class CardIndexTest : public ::testing::TestWithParam<const char*> {
 protected:
  CardIndexTest() : table(make("t")), index(std::make_unique<RunIndex>(*table)) {}

  std::unique_ptr<Table> make(const std::string& name) {
    if (GetParam() == std::string("memory")) return std::make_unique<MemoryTable>();
    return std::move(RocksTable::open_or_recreate(directory.path() / name, 1)->table);
  }

  Position happens(Stream stream, Event event) {
    Record record;
    record.position = static_cast<Position>(log.size()) + 1;
    record.stream = std::move(stream);
    record.recorded_at_ns = static_cast<std::int64_t>(record.position) * 1'000;
    record.actor = "uid:1";
    record.event = std::move(event);
    log.push_back(std::move(record));
    return log.size();
  }
  Position card(const CardId& id, CardEvent event) {
    return happens(Stream::card(id), Event{std::move(event)});
  }
  Position submits(const CardId& id, const std::string& project, std::int32_t priority = 0) {
    return card(id, CardSubmitted{project, "Fix it", "All of it", "", priority});
  }
  void merges(const CardId& id, const RunId& work, const RunId& merge) {
    card(id, CardStarted{work, 1});
    card(id, CardVerificationStarted{work, "verify"});
    card(id, CardVerified{work, 7, "c0ffee"});
    card(id, CardMergeStarted{merge});
    card(id, CardMerged{merge, "beef"});
  }
  void apply() { ASSERT_TRUE(index->apply(log).has_value()); }
  [[nodiscard]] const CardIndex& cards() const { return index->cards(); }
  // Returns the last byte of each listed card's id.
  std::vector<int> listed(const CardFilter& filter = {}, std::size_t limit = 100,
                          Position cursor = 0) const {
    std::vector<int> ids;
    const CardPage page = cards().list(filter, limit, cursor).value();
    for (const CardRow& row : page.rows) {
      ids.push_back(row.card_id.bytes.back());
    }
    return ids;
  }

  using Ids = std::vector<int>;
  const CardId one = uuid_of(1);
  const CardId two = uuid_of(2);
  const CardId three = uuid_of(3);
  TemporaryDirectory directory;
  std::unique_ptr<Table> table;
  std::unique_ptr<RunIndex> index;
  std::vector<Record> log;
};

INSTANTIATE_TEST_SUITE_P(Tables, CardIndexTest, ::testing::Values("memory", "rocks"),
                         [](const auto& each) { return std::string(each.param); });

TEST_P(CardIndexTest, FindsAMergedCardByItsIdAndByEachOfItsRuns) {  // H1
  const Position submitted = submits(one, "web", 5);
  merges(one, uuid_of(11), uuid_of(12));
  apply();
  const auto row = cards().find(one).value();
  ASSERT_TRUE(row.has_value());
  EXPECT_EQ(row->status, CardStatus::merged);
  EXPECT_EQ(row->project, "web");
  EXPECT_EQ(row->priority, 5);
  EXPECT_EQ(row->commit, "beef") << "of the base, after it";
  EXPECT_EQ(row->run_id, uuid_of(11));
  EXPECT_EQ(row->merge_run_id, uuid_of(12));
  EXPECT_EQ(row->submitted_position, submitted);
  EXPECT_EQ(row->last_position, log.size());
  EXPECT_EQ(cards().find_by_run(uuid_of(11)).value(), row);
  EXPECT_EQ(cards().find_by_run(uuid_of(12)).value(), row);
  EXPECT_FALSE(cards().find_by_run(uuid_of(13)).value().has_value());
  EXPECT_FALSE(cards().find(two).value().has_value());
}

TEST_P(CardIndexTest, FollowsACardThroughBatchesOfAnySize) {
  for (const std::size_t size : {1U, 2U, 3U, 100U}) {
    log.clear();
    const std::unique_ptr<Table> fresh = make("b" + std::to_string(size));
    RunIndex again(*fresh);
    submits(one, "web");
    submits(two, "api");
    card(one, CardStarted{uuid_of(11), 1});
    card(one, CardBlocked{uuid_of(11), "CHECKS_FAILED", "two tests fail", 77});
    card(one, CardUnblocked{"again", true});
    card(one, CardStarted{uuid_of(12), 2});
    card(one, CardFailed{uuid_of(12), "X", "no"});
    for (std::size_t at = 0; at < log.size(); at += size) {
      const auto batch = std::span(log).subspan(at, std::min(size, log.size() - at));
      ASSERT_TRUE(again.apply(batch).has_value());
    }
    const CardIndex& cards = again.cards();
    EXPECT_EQ(cards.find(one).value()->status, CardStatus::failed);
    EXPECT_EQ(cards.find(one).value()->runs, 2U);
    EXPECT_EQ(cards.positions(one).value(), (std::vector<Position>{1, 3, 4, 5, 6, 7}));
    EXPECT_EQ(cards.counts("web").value(), (CardCounts{0, 0, 0, 0, 0, 0, 1}));
    EXPECT_EQ(cards.counts("api").value(), (CardCounts{1, 0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(cards.counts("no").value(), CardCounts{});
    const auto blocked = cards.list({{}, CardStatus::blocked}, 10).value();
    EXPECT_TRUE(blocked.rows.empty()) << "no entry is left of a status that it had";
  }
}

TEST_P(CardIndexTest, ListsByProjectAndStatusTheLatestFirstInPages) {
  submits(one, "web");
  submits(two, "we");  // a prefix of another project's name
  submits(three, "web");
  apply();
  merges(one, uuid_of(11), uuid_of(12));
  apply();
  EXPECT_EQ(listed(), (Ids{3, 2, 1}));
  EXPECT_EQ(listed({"web", {}}), (Ids{3, 1}));
  EXPECT_EQ(listed({"we", {}}), Ids{2});
  EXPECT_EQ(listed({{}, CardStatus::backlog}), (Ids{3, 2}));
  EXPECT_EQ(listed({"web", CardStatus::backlog}), Ids{3});
  EXPECT_EQ(listed({{}, CardStatus::merged}), Ids{1});
  EXPECT_EQ(listed({{}, {}, {CardStatus::merged, CardStatus::backlog}}), (Ids{3, 2, 1}));
  EXPECT_EQ(listed({"web", {}, {CardStatus::merged, CardStatus::failed}}), Ids{1});
  EXPECT_EQ(listed({"we", CardStatus::merged}), Ids{});

  Ids paged;
  Position cursor = 0;
  do {
    const auto page = cards().list({}, 1, cursor).value();
    for (const CardRow& row : page.rows) paged.push_back(row.card_id.bytes.back());
    cursor = page.next_cursor;
  } while (cursor != 0);
  EXPECT_EQ(paged, listed());
}

TEST_P(CardIndexTest, APriorityLeavesWhenTheCardChanged) {
  submits(one, "web");
  card(one, CardStarted{uuid_of(11), 1});
  const Position blocked = card(one, CardBlocked{uuid_of(11), "CHECKS_FAILED", "no", 0});
  apply();
  const std::int64_t changed_at_ns = cards().find(one).value()->changed_at_ns;
  const Position set = card(one, CardPrioritySet{5, "the release waits for it"});
  apply();
  const auto row = cards().find(one).value();
  EXPECT_EQ(row->priority, 5);
  EXPECT_EQ(row->changed_at_ns, changed_at_ns);
  EXPECT_EQ(row->changed_at_ns, static_cast<std::int64_t>(blocked) * 1'000);
  EXPECT_EQ(row->last_position, set);
}

TEST_P(CardIndexTest, KnowsWhereAPolicyWasRefusedAndAdopted) {
  const Stream web = Stream::project("web");
  happens(web, ProjectEvent{ProjectPut{"/r", "main", "", {}}});
  happens(web, ProjectEvent{PolicyAdopted{digest_of(1), {}}});
  happens(web, ProjectEvent{PolicyRefused{digest_of(2), 3, "no such key"}});
  apply();
  happens(web, ProjectEvent{PolicyRefused{digest_of(3), 4, "no number"}});
  apply();
  EXPECT_EQ(cards().policy_adopted("web").value(), 2U);
  EXPECT_EQ(cards().policy_refused("web").value(), 4U);
  EXPECT_EQ(cards().policy_refused("api").value(), 0U);
}

TEST_P(CardIndexTest, MadeAnewFromTheLogIsTheSame) {  // P6
  submits(one, "web");
  apply();
  merges(one, uuid_of(11), uuid_of(12));
  apply();
  const std::unique_ptr<Table> fresh = make("fresh");
  RunIndex again(*fresh);
  ASSERT_TRUE(again.apply(log).has_value());
  EXPECT_EQ(again.cards().find(one).value(), cards().find(one).value());
  EXPECT_EQ(again.cards().positions(one).value(), cards().positions(one).value());
  EXPECT_EQ(again.cards().counts("web").value(), cards().counts("web").value());
}

TEST_P(CardIndexTest, AnEventThatCantFollowIsDamage) {
  card(one, CardStarted{uuid_of(11), 1});
  const auto unknown = index->apply(log);
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().kind, StoreError::Kind::damaged);
  log.clear();
  submits(one, "web");
  card(one, CardMerged{uuid_of(11), ""});
  const auto impossible = index->apply(log);
  ASSERT_FALSE(impossible.has_value());
  EXPECT_EQ(impossible.error().position, 2U);
}

}  // namespace
}  // namespace signalbox
