// What the database of a cell need not keep any more (BEHAVIOURS, chapter K).
#include "server/cell/cell_trim.h"

#include <gtest/gtest.h>

#include "server/cell/cell_member.h"
#include "store/memory_event_log.h"
#include "store/memory_shared_log.h"
#include "tests/eventually.h"
#include "tests/server/dropped_records.h"
#include "tests/store/sample_events.h"

namespace signalbox {
namespace {

constexpr std::int64_t trim_second_ns = 1'000'000'000;
constexpr std::int64_t day_ms = 24LL * 60 * 60 * 1000;

class DecideTrim : public testing::Test {
 protected:
  DecideTrim() {
    facts_.own = "a";
    facts_.absent_ms = 7 * day_ms;
    facts_.old = 100;
    add("a", 500, 0);
  }
  void add(const std::string& name, Position applied, std::int64_t silent_ms) {
    ReplicaReport report;
    report.server.name = name;
    report.applied = applied;
    report.silent_ms = silent_ms;
    facts_.servers.push_back(report);
  }

  TrimFacts facts_;
};

TEST_F(DecideTrim, NeedsTwoCopiesOrAnArchive) {  // K7
  EXPECT_EQ(decide_trim(facts_).through, 0U);
  facts_.archived = 60;
  EXPECT_EQ(decide_trim(facts_).through, 60U);
  add("b", 500, 2 * day_ms);  // it may have been lost
  EXPECT_EQ(decide_trim(facts_).through, 60U);
  add("c", 500, 5'000);
  EXPECT_EQ(decide_trim(facts_).through, 100U);
}

TEST_F(DecideTrim, KeepsWhatAServerLacks) {  // K7
  add("b", 500, 0);
  add("c", 40, 6 * day_ms);
  EXPECT_EQ(decide_trim(facts_).through, 40U);
  add("d", 0, 0);  // it begins
  EXPECT_EQ(decide_trim(facts_).through, 0U);
}

TEST_F(DecideTrim, DoesNotWaitForEver) {  // K7
  add("b", 500, 0);
  add("c", 40, 8 * day_ms);
  EXPECT_EQ(decide_trim(facts_).through, 100U);
  // Nor for one that can't follow any more.
  facts_.begin = 50;
  add("d", 49, 2 * 60'000);
  EXPECT_EQ(decide_trim(facts_).through, 100U);
  add("e", 0, 0);
  EXPECT_EQ(decide_trim(facts_).through, 0U) << "it has just taken a name";
  facts_.servers.pop_back();
  add("e", 50, 0);
  EXPECT_EQ(decide_trim(facts_).through, 0U) << "it follows what begins there";
}

TEST_F(DecideTrim, KnowsNothingWithoutItsOwnReport) {  // K7
  facts_.own = "x";
  add("b", 500, 0);
  EXPECT_EQ(decide_trim(facts_).through, 0U);
}

TEST_F(DecideTrim, SaysForWhomSomethingIsKept) {  // K7
  EXPECT_EQ(decide_trim(facts_).held_by, "a");
  EXPECT_NE(decide_trim(facts_).why.find("no other server"), std::string::npos);
  add("b", 500, 0);
  EXPECT_EQ(decide_trim(facts_).held_by, "");
  EXPECT_EQ(decide_trim(facts_).why, "");
  add("c", 40, day_ms);
  EXPECT_EQ(decide_trim(facts_).held_by, "c");
}

TEST(TailSamples, TellWhatIsOldWithoutTheLog) {  // K7
  TailSamples tails(80 * trim_second_ns);
  EXPECT_EQ(tails.old_at(1000 * trim_second_ns), 0U);
  for (int second = 0; second < 200; ++second) {
    tails.note(second * trim_second_ns, static_cast<Position>(second));
  }
  EXPECT_EQ(tails.old_at(199 * trim_second_ns), 110U) << "at most an eighth of the time later";
  EXPECT_EQ(tails.old_at(200 * trim_second_ns), 120U);
  EXPECT_EQ(tails.old_at(205 * trim_second_ns), 120U);
}

// A server that takes the cell, with reports of another one beside it, over a database in memory.
class CellTrim : public testing::Test {
 protected:
  CellTrim() {
    settings_.name = "main";
    settings_.server = {"a", "tcp://a:1", "this one"};
    settings_.keep_ms = 1000;
    other_.server = {"b", "tcp://b:1", "another one"};
    EXPECT_TRUE(shared()->create(first_link(replica_), "secret"));
  }
  ~CellTrim() override {
    if (member_) member_->stop(/*lets_go=*/true, {});
  }

  [[nodiscard]] std::unique_ptr<SharedLog> shared() const {
    return std::make_unique<MemorySharedLog>(chain_);
  }
  void become_active(std::unique_ptr<SharedLog> reports) {
    CellMember::Hooks hooks{[](const FollowedLink&) {},
                            [](std::int64_t) {},
                            [this] { is_active_ = true; },
                            [this](const std::string&) { is_deposed_ = true; },
                            [](const StoreError&) {},
                            [this](bool is_ok, const std::string&) { troubles_ += is_ok ? 0 : 1; }};
    member_ = std::make_unique<CellMember>(settings_, "1.2", log_,
                                           CellMember::Connections{shared(), std::move(reports)},
                                           std::move(hooks));
    member_->start();
    ASSERT_TRUE(eventually([this] { return is_active_.load(); }));
  }
  void become_active() { become_active(shared()); }
  // Returns whether the database's log begins after this position in the end, while the other
  // server, which has what it has, is there.
  [[nodiscard]] bool is_trimmed_to(Position begin) const {
    return eventually([&] {
      EXPECT_TRUE(shared()->report(other_));
      return chain_->links().front().prev == begin;
    });
  }

  const std::shared_ptr<MemoryChain> chain_ = std::make_shared<MemoryChain>();
  MemoryEventLog replica_;
  ReplicatedEventLog log_{replica_, shared(), [](const std::string&) {}};
  CellSettings settings_;
  ReplicaReport other_;
  std::atomic<bool> is_active_ = false;
  std::atomic<bool> is_deposed_ = false;
  std::atomic<int> troubles_ = 0;  // that were noted
  std::unique_ptr<CellMember> member_;
};

TEST_F(CellTrim, TheActiveServerRemovesWhatAllHave) {  // K7
  become_active();
  constexpr Position end = 3 * 1200;
  for (Position first = 1; first < end; first += 3) {  // more than are removed at once
    const std::vector<Commit> commits = {test::sample_commit(first, 3)};
    ASSERT_EQ(log_.append(log_.tail(), commits).status, AppendStatus::ok);
  }
  // The other one has all but the last hundred.
  other_.applied = end - 300;
  EXPECT_TRUE(is_trimmed_to(end - 300)) << chain_->links().front().prev;
  EXPECT_EQ(chain_->links().size(), 100U);
  EXPECT_TRUE(eventually([&] { return member_->view().log_begin == end - 300; }));
  EXPECT_TRUE(eventually([&] { return member_->view().log_held_by == "b"; }));
  // And then the rest, but for the end.
  other_.applied = end;
  EXPECT_TRUE(is_trimmed_to(end - 3));
  EXPECT_EQ(chain_->links().back().last, end);
}

// Nobody was told that the last one is there.
TEST_F(CellTrim, LeavesTheLastLinkThatIsKnownWhileAnAppendIsUnderWay) {  // K5, K7
  become_active();
  for (int count = 0; count < 5; ++count) test::append_event(log_, ServerEvent(ClockJumped{}));
  const ChainLink known = chain_->links().back();
  ChainLink landed = known;
  landed.epoch_before = known.epoch;
  landed.before = known.prev;
  landed.prev = known.last;
  landed.last = known.last + 1;
  chain_->delay(landed);
  chain_->land_delayed();
  ASSERT_EQ(chain_->links().back(), landed);
  other_.applied = known.last;
  EXPECT_TRUE(is_trimmed_to(known.prev)) << chain_->links().front().prev;
  const std::uint64_t before = shared()->state()->beat;
  EXPECT_TRUE(eventually([&] { return is_deposed_ || shared()->state()->beat > before + 1; }));
  EXPECT_FALSE(is_deposed_) << "as if the database had lost it";
}

// A database that removes nothing until it is told to.
class UntrimmableLog final : public MemorySharedLog {
 public:
  UntrimmableLog(const std::shared_ptr<MemoryChain>& chain, std::atomic<int>& tried,
                 const std::atomic<bool>& fails)
      : MemorySharedLog(chain), tried_(tried), fails_(fails) {}
  Stored<TrimmedChain> trim(std::uint64_t epoch, Position through, std::size_t count) override {
    ++tried_;
    if (!fails_) return MemorySharedLog::trim(epoch, through, count);
    return store_failure(StoreError::Kind::away, "a lock is in the way");
  }

 private:
  std::atomic<int>& tried_;
  const std::atomic<bool>& fails_;
};

TEST_F(CellTrim, SaysOnceThatItFailsAndTriesAgain) {  // K7
  std::atomic<int> tried = 0;
  std::atomic<bool> fails = true;
  become_active(std::make_unique<UntrimmableLog>(chain_, tried, fails));
  test::append_event(log_, ServerEvent(ClockJumped{}));
  EXPECT_TRUE(eventually([&] { return tried > 2 * limits::cell_trim_failures_max; }));
  EXPECT_NE(member_->view().log_kept_because.find("a lock is in the way"), std::string::npos);
  EXPECT_EQ(troubles_, 1);
  fails = false;
  EXPECT_TRUE(eventually([&] { return member_->view().log_begin == 0U; }));
  EXPECT_EQ(member_->view().log_kept_because.find("a lock"), std::string::npos);
  member_->stop(/*lets_go=*/true, {});
}

// However young it is: retention found it old.
TEST_F(CellTrim, WhatWasArchivedAndDroppedIsOld) {  // K7
  settings_.keep_ms = day_ms;
  become_active();
  test::append_event(log_, ServerEvent(ServerStarted{1, "1.0", PreviousEnd::none}));
  for (int count = 0; count < 5; ++count) test::append_event(log_, ServerEvent(ClockJumped{}));
  test::drop_until(log_, 3);
  ASSERT_EQ(log_.horizon().position, 3U);
  other_.applied = log_.tail();
  EXPECT_TRUE(is_trimmed_to(3)) << chain_->links().front().prev;
}

}  // namespace
}  // namespace signalbox
