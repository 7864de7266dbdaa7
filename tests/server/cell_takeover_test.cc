// When a member of a cell that takes it begins to be its writer, in a time that only the test lets
// pass: not before what the former writer may still answer for the present is over.
#include <atomic>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "server/cell/cell_member.h"
#include "server/limits.h"
#include "store/memory_shared_log.h"
#include "store/rocks_event_log.h"
#include "tests/eventually.h"
#include "tests/fixtures/stepped_time.h"
#include "tests/fixtures/temporary_directory.h"

namespace signalbox {
namespace {

// A database that takes no takeover, or has no cell, as while it is restored.
class DefectiveLog final : public MemorySharedLog {
 public:
  using MemorySharedLog::MemorySharedLog;
  Stored<CellState> state() override {
    ++looks;
    if (is_gone) return store_failure(StoreError::Kind::not_found, "there is no cell");
    return MemorySharedLog::state();
  }
  Stored<std::uint64_t> take(std::uint64_t seen, const CellServer& server) override {
    if (refuses) return store_failure(StoreError::Kind::away, "a right is missing");
    auto taken = MemorySharedLog::take(seen, server);
    if (!loses_take.exchange(false)) return taken;
    return store_failure(StoreError::Kind::io, "it raised the epoch, and got no further");
  }

  std::atomic<int> looks = 0;
  std::atomic<bool> is_gone = false;
  std::atomic<bool> refuses = false;
  std::atomic<bool> loses_take = false;
};

class CellTakeoverTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = RocksEventLog::open(directory_.path(), {});
    ASSERT_TRUE(opened.has_value());
    replica_ = std::move(*opened);
    ASSERT_TRUE(former_.create(first_link(*replica_), "secret"));
    ASSERT_TRUE(former_.take(0, {"a", "tcp://a:1"}));
    ASSERT_TRUE(beats());
    log_ = std::make_unique<ReplicatedEventLog>(
        *replica_, std::make_unique<MemorySharedLog>(chain_), [](const std::string&) {},
        std::make_unique<test::SteppedWaiter>(time_));
    auto waiter = std::make_unique<test::SteppedWaiter>(time_);
    waiter_ = waiter.get();
    auto database = std::make_unique<DefectiveLog>(chain_);
    database_ = database.get();
    CellSettings settings;
    settings.name = "main";
    settings.server = {"b", "tcp://b:1", "this one"};
    member_ = std::make_unique<CellMember>(
        settings, "1.2", *log_,
        CellMember::Connections{std::move(database), std::make_unique<MemorySharedLog>(chain_)},
        CellMember::Hooks{
            [this](const FollowedLink&) { member_->note_applied(); }, [](std::int64_t) {},
            [this] { is_active_ = true; }, [](const std::string&) {},
            [this](const StoreError&) { has_failed_ = true; }, [](bool, const std::string&) {}},
        std::move(waiter));
    member_->start();
    ASSERT_TRUE(is_settled());
  }

  // The former writer beats, if it still is the writer.
  bool beats(bool lets_go = false) {
    Beat beat;
    beat.epoch = 1;
    beat.beat = ++beats_;
    beat.wall_ns = waiter_ == nullptr ? 0 : waiter_->wall_ns();
    beat.is_released = lets_go;
    const auto is_writer = former_.beat(beat);
    return is_writer && *is_writer;
  }
  [[nodiscard]] bool is_settled() const {
    return eventually([this] { return waiter_->is_waiting(); });
  }
  void pass(std::int64_t ms) {
    time_->pass(ms);
    ASSERT_TRUE(is_settled());
  }
  [[nodiscard]] std::uint64_t epoch() { return former_.state()->epoch; }

  const std::shared_ptr<MemoryChain> chain_ = std::make_shared<MemoryChain>();
  const std::shared_ptr<test::SteppedTime> time_ = std::make_shared<test::SteppedTime>();
  TemporaryDirectory directory_;
  MemorySharedLog former_{chain_};
  std::uint64_t beats_ = 0;
  std::unique_ptr<RocksEventLog> replica_;
  std::atomic<bool> is_active_ = false;
  std::atomic<bool> has_failed_ = false;
  DefectiveLog* database_ = nullptr;  // the member's
  std::unique_ptr<ReplicatedEventLog> log_;
  test::SteppedWaiter* waiter_ = nullptr;  // the member's
  std::unique_ptr<CellMember> member_;
};

// The database ended the connection of a writer that is there, just after a beat.
TEST_F(CellTakeoverTest, BeginsWhenNoProofOfTheFormerWriterHoldsAnyMore) {  // P10, K3
  pass(limits::cell_poll_ms_default);
  ASSERT_TRUE(beats());
  chain_->lose_connections();
  pass(limits::cell_poll_ms_default);
  ASSERT_EQ(epoch(), 2U) << "it didn't take the cell";
  EXPECT_FALSE(beats()) << "the former writer would go on";
  EXPECT_FALSE(is_active_) << "the former writer may answer for the present";
  EXPECT_FALSE(member_->is_current());
  pass(CellMember::former_proof_ms_min - 1);
  EXPECT_FALSE(is_active_);
  time_->pass(1);
  EXPECT_TRUE(eventually([this] { return is_active_.load(); }));
}

TEST_F(CellTakeoverTest, BeginsAtOnceIfTheFormerWriterHasLetGo) {  // P10, K5
  ASSERT_TRUE(beats(/*lets_go=*/true));
  time_->pass(limits::cell_poll_ms_default);
  EXPECT_TRUE(eventually([this] { return is_active_.load(); }));
}

// A writer that finds it stands by, and whoever takes the cell then may have compared the log just
// before: what it would write would be in the place of what was lost.
TEST_F(CellTakeoverTest, IsNoneOfADatabaseThatLostWhatWasAcknowledged) {  // K5
  Beat beat;
  beat.epoch = 1;
  beat.beat = ++beats_;
  beat.acked = 7;
  beat.is_released = true;
  ASSERT_TRUE(former_.beat(beat).value());
  time_->pass(limits::cell_poll_ms_default);
  EXPECT_TRUE(eventually([this] { return has_failed_ || is_active_; }));
  EXPECT_FALSE(is_active_);
}

TEST_F(CellTakeoverTest, SaysWhyItFailsUntilSomebodyBeats) {  // K12
  database_->refuses = true;
  const auto trouble = [&] { return member_->view().trouble; };
  for (std::int64_t ms = 0; trouble().empty(); ms += limits::cell_poll_ms_default) {
    ASSERT_LT(ms, 10 * limits::cell_silence_ms_max);
    pass(limits::cell_poll_ms_default);
  }
  // Whether it tries again or looks first.
  for (std::int64_t ms = 0; ms < 2 * limits::cell_silence_ms_max;
       ms += limits::cell_poll_ms_default) {
    pass(limits::cell_poll_ms_default);
    EXPECT_EQ(trouble(), "a right is missing");
  }
  ASSERT_TRUE(beats());
  pass(limits::cell_poll_ms_default);
  EXPECT_EQ(trouble(), "");
}

TEST_F(CellTakeoverTest, NamesTheOneThatHadItBeforeItFailedHalfway) {  // K3
  database_->loses_take = true;
  for (std::int64_t ms = 0; !is_active_; ms += limits::cell_poll_ms_default) {
    ASSERT_LT(ms, 10 * limits::cell_silence_ms_max);
    pass(limits::cell_poll_ms_default);
  }
  EXPECT_FALSE(database_->loses_take);
  EXPECT_EQ(epoch(), 3U);
  const std::string because = member_->view().taken_because;
  EXPECT_NE(because.find("a was silent"), std::string::npos) << because;
}

TEST(TextOfATakeover, NamesWhoGotHalfwayAsThat) {  // K3
  CellState state;
  state.epoch = 4;
  state.beat_epoch = 3;
  state.holder = {"a", "tcp://a:1"};
  EXPECT_NE(text_of(TakeoverWatch::Cause::silent, state).find("got no further"), std::string::npos);
  state.beat_epoch = 4;
  EXPECT_EQ(text_of(TakeoverWatch::Cause::silent, state).find("got no further"), std::string::npos);
  state.holder = {};
  EXPECT_EQ(text_of(TakeoverWatch::Cause::silent, state), "nobody has had it before");
}

TEST_F(CellTakeoverTest, LeavesACellThatIsGoneForLongOnly) {  // K5
  database_->is_gone = true;
  pass(limits::cell_poll_ms_default);
  pass(limits::cell_loss_ms_min / 2);
  EXPECT_EQ(member_->view().trouble, "there is no cell");
  database_->is_gone = false;
  ASSERT_TRUE(beats());
  pass(limits::cell_beat_ms_default);
  EXPECT_EQ(member_->view().trouble, "");
  EXPECT_FALSE(has_failed_);
  database_->is_gone = true;
  pass(limits::cell_poll_ms_default);
  pass(limits::cell_loss_ms_min / 2);
  EXPECT_FALSE(has_failed_);
  time_->pass(limits::cell_loss_ms_min);
  EXPECT_TRUE(eventually([this] { return has_failed_.load(); }));
}

// It would begin a session for each look, and log it.
TEST_F(CellTakeoverTest, LooksSeldomAtADatabaseThatFailsForLong) {  // K12
  const auto looks_in = [&](std::int64_t ms) {
    const int before = database_->looks;
    for (std::int64_t at = 0; at < ms; at += limits::cell_poll_ms_default) {
      pass(limits::cell_poll_ms_default);
    }
    return database_->looks - before;
  };
  database_->is_gone = true;
  EXPECT_GT(looks_in(1'000), 40) << "a failover is over soon";
  (void)looks_in(2'000);
  EXPECT_LE(looks_in(1'000), 5);
  database_->is_gone = false;
  (void)looks_in(limits::cell_beat_ms_default);
  EXPECT_GT(looks_in(limits::cell_silence_ms_max / 3), 20);
}

// Answers would wait for long, and the takeover of a crash has 300 ms.
static_assert(CellMember::proof_ms_max < CellMember::former_proof_ms_min);
static_assert(CellMember::former_proof_ms_min + 2 * limits::cell_poll_ms_default < 200);

}  // namespace
}  // namespace signalbox
