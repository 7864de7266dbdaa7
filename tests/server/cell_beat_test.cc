// When the writer of a cell beats, in a time that only the test lets pass. A standby believes the
// last link of a burst only when a beat says that it was acknowledged.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "server/cell/cell_member.h"
#include "server/limits.h"
#include "store/memory_shared_log.h"
#include "store/rocks_event_log.h"
#include "tests/eventually.h"
#include "tests/fixtures/stepped_time.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/store/sample_events.h"

namespace signalbox {
namespace {

// The reports of a server, as a database takes them that is now and then too slow.
class SlowReports final : public MemorySharedLog {
 public:
  using MemorySharedLog::MemorySharedLog;
  Stored<void> report(const ReplicaReport& report) override {
    if (fails) return store_failure(StoreError::Kind::away, "it took too long");
    ++told;
    return MemorySharedLog::report(report);
  }
  [[nodiscard]] Stored<std::vector<ReplicaReport>> replicas() override {
    if (hides) return store_failure(StoreError::Kind::away, "permission denied for sb_replica");
    return MemorySharedLog::replicas();
  }

  std::atomic<bool> fails = false;
  std::atomic<bool> hides = false;
  std::atomic<int> told = 0;
};

class CellBeatTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = RocksEventLog::open(directory_.path(), {});
    ASSERT_TRUE(opened.has_value());
    replica_ = std::move(*opened);
    ASSERT_TRUE(shared_.create(first_link(*replica_), "secret"));
    log_ = std::make_unique<ReplicatedEventLog>(
        *replica_, std::make_unique<MemorySharedLog>(chain_), [](const std::string&) {},
        std::make_unique<test::SteppedWaiter>(time_));
    auto waiter = std::make_unique<test::SteppedWaiter>(time_);
    waiter_ = waiter.get();
    auto reports = std::make_unique<SlowReports>(chain_);
    reports_ = reports.get();
    CellSettings settings;
    settings.name = "main";
    settings.server = {"b", "tcp://b:1", "this one"};
    member_ = std::make_unique<CellMember>(
        settings, "1.2", *log_,
        CellMember::Connections{std::make_unique<MemorySharedLog>(chain_), std::move(reports)},
        CellMember::Hooks{[this](const FollowedLink&) { member_->note_applied(); },
                          [](std::int64_t) {}, [this] { is_active_ = true; },
                          [this](const std::string& why) {
                            deposed_because_ = why;
                            is_deposed_ = true;
                          },
                          [](const StoreError&) {}, [](bool, const std::string&) {},
                          [](Position) {}, [] { return std::string(); }, [this] { ++proofs_; }},
        std::move(waiter));
    member_->start();
    ASSERT_TRUE(eventually([&] { return is_active_.load(); }));
    ASSERT_TRUE(is_settled());
  }

  // Returns true once the member has done all that is due.
  [[nodiscard]] bool is_settled() const {
    return eventually([this] { return waiter_->is_waiting(); });
  }
  // Appends a record, as the writer.
  void append() {
    const std::vector<Commit> commits = {test::sample_commit(log_->tail() + 1, 1)};
    ASSERT_EQ(log_->append(log_->tail(), commits).status, AppendStatus::ok);
    ASSERT_TRUE(is_settled());
  }
  void pass(std::int64_t ms) {
    time_->pass(ms);
    ASSERT_TRUE(is_settled());
  }
  [[nodiscard]] std::uint64_t beats() { return shared_.state()->beat; }

  const std::shared_ptr<MemoryChain> chain_ = std::make_shared<MemoryChain>();
  const std::shared_ptr<test::SteppedTime> time_ = std::make_shared<test::SteppedTime>();
  TemporaryDirectory directory_;
  MemorySharedLog shared_{chain_};
  std::unique_ptr<RocksEventLog> replica_;
  std::atomic<bool> is_active_ = false;
  std::atomic<int> proofs_ = 0;
  std::string deposed_because_;  // once is_deposed_
  std::atomic<bool> is_deposed_ = false;
  std::unique_ptr<ReplicatedEventLog> log_;
  test::SteppedWaiter* waiter_ = nullptr;  // the member's
  SlowReports* reports_ = nullptr;         // the member's
  std::unique_ptr<CellMember> member_;
};

TEST_F(CellBeatTest, SaysSoonWhatTheLastAppendWas) {  // K6
  const std::uint64_t before = beats();
  append();
  pass(limits::cell_beat_after_ms_default - 1);
  EXPECT_EQ(beats(), before) << "another append could follow";
  pass(1);
  EXPECT_EQ(beats(), before + 1);
  EXPECT_EQ(shared_.state()->acked, 1U);
}

TEST_F(CellBeatTest, IsRareWhileNothingHappens) {
  append();
  pass(limits::cell_beat_after_ms_default);
  const std::uint64_t before = beats();
  for (std::uint64_t interval = 1; interval <= 4; ++interval) {
    pass(limits::cell_beat_ms_default - 1);
    EXPECT_EQ(beats(), before + interval - 1);
    pass(1);
    EXPECT_EQ(beats(), before + interval);
  }
}

// A link says of the one before it what a beat would.
TEST_F(CellBeatTest, ComesNoEarlierWhileAppendsFollowEachOther) {
  const std::uint64_t before = beats();
  constexpr std::int64_t apart_ms = limits::cell_beat_after_ms_default - 1;
  std::int64_t passed_ms = 0;
  for (; passed_ms + apart_ms < limits::cell_beat_ms_default; passed_ms += apart_ms) {
    append();
    pass(apart_ms);
    ASSERT_EQ(beats(), before) << "after " << passed_ms + apart_ms << " ms";
  }
  append();
  pass(limits::cell_beat_ms_default - passed_ms);
  EXPECT_EQ(beats(), before + 1);
  EXPECT_EQ(shared_.state()->acked, log_->tail());
}

TEST_F(CellBeatTest, ComesAtOnceForAnAnswerThatWaits) {  // P10
  pass(limits::cell_beat_after_ms_default);
  const std::uint64_t before = beats();
  const std::int64_t proved_at_ns = member_->proved_at_ns();
  pass(1);
  const int proofs = proofs_;
  member_->ask_proof();
  ASSERT_TRUE(eventually([&] { return proofs_ > proofs; }));
  ASSERT_TRUE(is_settled());
  EXPECT_EQ(beats(), before + 1);
  EXPECT_GT(member_->proved_at_ns(), proved_at_ns);
}

// It may be long until an append finds it.
TEST_F(CellBeatTest, FindsThatTheDatabaseLostWhatItHadAcknowledged) {  // K5
  append();
  append();
  pass(limits::cell_beat_ms_default);
  ASSERT_FALSE(is_deposed_);
  const std::int64_t proved_at_ns = member_->proved_at_ns();
  const int proofs = proofs_;
  chain_->lose_links_after(1);
  time_->pass(limits::cell_beat_ms_default);
  ASSERT_TRUE(eventually([&] { return is_deposed_.load(); }));
  EXPECT_NE(deposed_because_.find("lost acknowledged records"), std::string::npos)
      << deposed_because_;
  EXPECT_EQ(member_->proved_at_ns(), proved_at_ns) << "it answers nothing as the present by that";
  EXPECT_EQ(proofs_, proofs);
}

TEST_F(CellBeatTest, FindsThatTheDatabaseLostWhatWasThereBeforeItsFirstAppend) {  // K5
  append();
  member_->stop(/*lets_go=*/true, {});
  const auto taken = shared_.take(1, {"c", "tcp://c:1"});
  ASSERT_TRUE(taken.has_value());
  log_->begin_epoch(*taken, *shared_.last());
  Beat beat = log_->next_beat(*taken, log_->tail());
  beat.latest = log_->latest();
  EXPECT_TRUE(shared_.beat(beat).value());
  chain_->lose_links_after(0);
  EXPECT_EQ(shared_.beat(beat).error().kind, StoreError::Kind::damaged);
}

// What it sent may be there before it is told so, or never.
TEST_F(CellBeatTest, TakesAnAppendUnderWayForNoLoss) {  // K5
  append();
  for (const auto fate :
       {MemoryChain::LostAppend::lands, MemoryChain::LostAppend::lands_later,
        MemoryChain::LostAppend::vanishes, MemoryChain::LostAppend::lands_and_goes}) {
    chain_->lose_next_append(fate);
    const Position tail = log_->tail();
    std::thread appends([&] {
      const std::vector<Commit> commits = {test::sample_commit(tail + 1, 1)};
      EXPECT_EQ(log_->append(tail, commits).status, AppendStatus::ok);
    });
    EXPECT_TRUE(eventually([&] { return !log_->waiting_because().empty(); }));
    const std::uint64_t before = beats();
    EXPECT_TRUE(eventually([&] {
      member_->ask_proof();
      return beats() > before;
    }));
    EXPECT_TRUE(eventually([&] {
      time_->pass(limits::cell_beat_ms_default);
      return log_->tail() > tail;
    }));
    appends.join();
    ASSERT_TRUE(is_settled());
    EXPECT_FALSE(is_deposed_) << deposed_because_;
  }
}

// The log outlives the member: the appending thread may be in the middle of a batch then.
TEST_F(CellBeatTest, EndsWithTheMember) {
  const std::uint64_t before = beats();
  member_.reset();
  const std::vector<Commit> commits = {test::sample_commit(1, 1)};
  EXPECT_EQ(log_->append(0, commits).status, AppendStatus::ok);
  EXPECT_EQ(beats(), before);
}

// Without its own report a server doesn't know which others there are, and no old records go.
TEST_F(CellBeatTest, TellsOfItselfAgainSoonWhenThatFailed) {  // K7
  reports_->fails = true;
  for (std::int64_t ms = 0; ms <= 2 * limits::cell_report_ms_default;
       ms += limits::cell_beat_ms_default) {
    pass(limits::cell_beat_ms_default);
  }
  EXPECT_NE(member_->view().trouble.find("can't tell the others of itself: it took too long"),
            std::string::npos)
      << member_->view().trouble;
  reports_->fails = false;
  const int before = reports_->told;
  for (std::int64_t ms = 0; ms <= 2 * limits::cell_look_ms_default;
       ms += limits::cell_beat_ms_default) {
    pass(limits::cell_beat_ms_default);
  }
  EXPECT_EQ(reports_->told, before + 1);
  EXPECT_EQ(member_->view().trouble, "");
}

TEST_F(CellBeatTest, SaysSinceWhenAndWhyTheListOfServersIsOld) {  // K12
  const auto look = [this] {
    for (std::int64_t ms = 0; ms <= 2 * limits::cell_look_ms_default;
         ms += limits::cell_beat_ms_default) {
      pass(limits::cell_beat_ms_default);
    }
  };
  look();
  const CellView fresh = member_->view();
  ASSERT_FALSE(fresh.servers.empty());
  EXPECT_GT(fresh.servers_at_ns, 0);
  EXPECT_EQ(fresh.servers_trouble, "");
  reports_->hides = true;
  look();
  const CellView old = member_->view();
  EXPECT_EQ(old.servers.size(), fresh.servers.size());
  EXPECT_EQ(old.servers_trouble, "permission denied for sb_replica");
  const std::int64_t read_at_ns = old.servers_at_ns;
  look();
  EXPECT_EQ(member_->view().servers_at_ns, read_at_ns);
  reports_->hides = false;
  look();
  EXPECT_EQ(member_->view().servers_trouble, "");
  EXPECT_GT(member_->view().servers_at_ns, read_at_ns);
}

}  // namespace
}  // namespace signalbox
