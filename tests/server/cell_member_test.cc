// A server as a member of its cell, on its own thread, over a shared log in memory: what it does
// when it may not, or can't, take the cell.
#include "server/cell/cell_member.h"

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <vector>

#include <gtest/gtest.h>

#include "server/limits.h"
#include "server/platform/clock.h"
#include "store/memory_shared_log.h"
#include "store/rocks_event_log.h"
#include "tests/eventually.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/store/faulty_disk.h"
#include "tests/store/sample_events.h"

namespace signalbox {
namespace {

std::int64_t machine_wall_ns() { return SystemClock().wall_ns(); }

class CellMemberTest : public testing::Test {
 protected:
  CellMemberTest() {
    settings_.name = "main";
    settings_.server = {"b", "tcp://b:1", "this one"};
    RocksEventLog::Options options;
    options.env = disk_.env();
    options.full_pause = std::chrono::milliseconds(1);
    auto opened = RocksEventLog::open(directory_.path(), std::move(options));
    EXPECT_TRUE(opened.has_value());
    replica_ = std::move(*opened);
    MemorySharedLog maker(chain_);
    EXPECT_TRUE(maker.create(first_link(*replica_), "secret"));
  }
  ~CellMemberTest() override { member_.reset(); }

  void start() {
    log_ = std::make_unique<ReplicatedEventLog>(*replica_, shared(), [](const std::string&) {});
    member_ = std::make_unique<CellMember>(settings_, "1.2", *log_,
                                           CellMember::Connections{shared(), shared()}, hooks());
    running_ = member_.get();
    member_->start();
  }
  [[nodiscard]] std::unique_ptr<SharedLog> shared() const {
    return std::make_unique<MemorySharedLog>(chain_);
  }
  CellMember::Hooks hooks() {
    return {[this](const FollowedLink&) { running_->note_applied(); },
            [](std::int64_t) {},
            [this] {
              full_for_when_active_ = replica_->full_for();
              is_active_ = true;
            },
            [](const std::string&) {},
            [this](const StoreError& error) {
              const std::lock_guard lock(mutex_);
              failure_ = error;
            },
            [](bool, const std::string&) {},
            [this](Position acked) { lag_ = acked; },
            [this]() -> std::string {
              note_full_disk();
              return is_unfit_ ? "it may not" : "";
            }};
  }
  // Called on the member's thread, as it is about to judge whether it is fit.
  void note_full_disk() {
    if (running_->view().trouble.find("quota") != std::string::npos) told_full_disk_ = true;
    if (replica_->full_for() > std::chrono::seconds(1)) had_full_disk_ = true;
  }
  // Waits until the member has failed, and returns why.
  StoreError failure() {
    std::optional<StoreError> failure;
    EXPECT_TRUE(eventually([&] {
      const std::lock_guard lock(mutex_);
      failure = failure_;
      return failure.has_value();
    }));
    return failure.value_or(StoreError{});
  }

  // Has the member raise the cell's level, and returns what became of it.
  Decided<CellUpgrade> upgrade() {
    const auto done = std::make_shared<std::promise<Decided<CellUpgrade>>>();
    auto outcome = done->get_future();
    member_->upgrade([done](const Decided<CellUpgrade>& what) { done->set_value(what); });
    const bool is_done = eventually([&] {
      return outcome.wait_for(std::chrono::milliseconds(0)) == std::future_status::ready;
    });
    if (is_done) return outcome.get();
    return reject(ErrorCode::INTERNAL, "nothing became of it");
  }

  // Appends three records as another server, which lets go of the cell then.
  void append_elsewhere() {
    TemporaryDirectory directory;
    auto replica = RocksEventLog::open(directory.path(), {});
    ASSERT_TRUE(replica.has_value());
    MemorySharedLog reader(chain_);
    ReplicatedEventLog writer(**replica, shared(), [](const std::string&) {});
    const auto epoch = reader.take(reader.state()->epoch, {"a", "tcp://a:1"});
    ASSERT_TRUE(epoch.has_value());
    writer.begin_epoch(*epoch, *reader.last());
    const std::vector<Commit> commits = {test::sample_commit(1, 3)};
    ASSERT_EQ(writer.append(0, commits).status, AppendStatus::ok);
    Beat beat = writer.next_beat(*epoch, 3);
    beat.is_released = true;
    ASSERT_TRUE(*reader.beat(beat));
  }

  const std::shared_ptr<MemoryChain> chain_ = std::make_shared<MemoryChain>();
  TemporaryDirectory directory_;
  test::FaultyDisk disk_;
  std::unique_ptr<RocksEventLog> replica_;
  CellSettings settings_;
  std::atomic<bool> is_active_ = false;
  std::atomic<bool> is_unfit_ = false;
  std::atomic<bool> had_full_disk_ = false;
  std::atomic<bool> told_full_disk_ = false;
  std::atomic<std::chrono::milliseconds> full_for_when_active_ = std::chrono::milliseconds(-1);
  std::atomic<Position> lag_ = 0;
  std::mutex mutex_;
  std::optional<StoreError> failure_;
  std::unique_ptr<ReplicatedEventLog> log_;
  std::unique_ptr<CellMember> member_;
  CellMember* running_ = nullptr;  // for its own thread, also while it is destroyed
};

TEST_F(CellMemberTest, TakesACellThatNobodyHasHad) {  // K3
  start();
  EXPECT_TRUE(eventually([&] { return is_active_.load(); }));
  EXPECT_EQ(member_->view().role, CellRole::active);
}

TEST_F(CellMemberTest, DoesNotTakeTheCellWhileItIsUnfit) {
  is_unfit_ = true;
  start();
  EXPECT_TRUE(eventually([&] {
    const auto servers = shared()->replicas();
    return servers && servers->size() == 1 && servers->front().role == "unfit";
  }));
  EXPECT_EQ(member_->view().trouble, "this server doesn't take the cell: it may not");
  EXPECT_EQ(shared()->state()->epoch, 0U);
  is_unfit_ = false;
  EXPECT_TRUE(eventually([&] { return is_active_.load(); }));
  EXPECT_EQ(member_->view().trouble, "");
}

TEST_F(CellMemberTest, DoesNotTakeTheCellWhileItsClockIsWrong) {  // K11
  const std::int64_t apart_ns = (limits::cell_clock_ms_max + 60'000) * 1'000'000;
  for (const bool is_ahead : {true, false}) {
    chain_->set_clock_ns(machine_wall_ns() + (is_ahead ? -apart_ns : apart_ns));
    start();
    const char* const why = is_ahead ? "s ahead of the database's" : "s behind the database's";
    EXPECT_TRUE(eventually([&] { return member_->view().trouble.find(why) != std::string::npos; }))
        << member_->view().trouble;
    EXPECT_EQ(shared()->state()->epoch, 0U);
    EXPECT_TRUE(eventually([&] { return member_->view().current_ns != 0; }));
    // What it shows isn't of a time that is still to come, by either clock.
    EXPECT_LE(member_->view().current_ns, machine_wall_ns() - (is_ahead ? apart_ns : 0));
    member_.reset();
  }
  chain_->set_clock_ns(machine_wall_ns());
  start();
  EXPECT_TRUE(eventually([&] { return is_active_.load(); }));
}

TEST_F(CellMemberTest, TakesTheCellFromAWriterWhoseClockWasAhead) {
  MemorySharedLog writer(chain_);
  ASSERT_TRUE(writer.take(0, {"a", "tcp://a:1"}).has_value());
  ASSERT_TRUE(*writer.beat({1, 1, 0, machine_wall_ns() + 3'600'000'000'000, true, ""}));
  start();
  EXPECT_TRUE(eventually([&] { return is_active_.load(); }));
}

TEST_F(CellMemberTest, StandsByWithAFullDiskAndTakesTheCellOnceThereIsSpace) {  // K11
  append_elsewhere();
  disk_.fault = test::WriteFault::append_fails;
  start();
  EXPECT_TRUE(eventually([&] {
    return member_->view().trouble.find("the replica can't be written") != std::string::npos;
  }));
  EXPECT_TRUE(eventually([&] {
    const auto servers = shared()->replicas();
    return servers && servers->size() == 1 && servers->front().role == "unfit";
  }));
  EXPECT_EQ(shared()->state()->epoch, 1U);
  disk_.fault = test::WriteFault::none;
  EXPECT_TRUE(eventually([&] { return is_active_.load(); }));
  EXPECT_EQ(log_->tail(), 3U);
  const std::lock_guard lock(mutex_);
  EXPECT_FALSE(failure_.has_value());
}

// As when its disk is full: the stop that follows has nothing to let go of.
TEST_F(CellMemberTest, LetsGoOfTheCellWhateverIsAskedLater) {  // K11
  start();
  ASSERT_TRUE(eventually([&] { return is_active_.load(); }));
  member_->ask_to_stop(/*lets_go=*/true, "c");
  member_->stop(/*lets_go=*/false, {});
  const auto state = shared()->state();
  ASSERT_TRUE(state.has_value());
  EXPECT_TRUE(state->is_released);
  EXPECT_EQ(state->successor, "c");
}

// A quota leaves space for what it follows, and none for what it would write.
TEST_F(CellMemberTest, DoesNotTakeTheCellSoonAfterItsDiskWasFull) {  // K11
  append_elsewhere();
  {
    RocksEventLog::Options options;
    options.env = disk_.env();
    options.full_pause = std::chrono::milliseconds(1'500);
    replica_.reset();
    auto opened = RocksEventLog::open(directory_.path(), std::move(options));
    ASSERT_TRUE(opened.has_value());
    replica_ = std::move(*opened);
  }
  disk_.fault = test::WriteFault::append_fails;
  start();
  EXPECT_TRUE(eventually([&] { return replica_->full_for().count() > 0; }));
  disk_.fault = test::WriteFault::none;
  EXPECT_TRUE(eventually([&] { return log_->tail() == 3; }));
  EXPECT_TRUE(eventually([&] { return is_active_.load(); }));
  EXPECT_EQ(full_for_when_active_.load().count(), 0);
  // A member that hangs until the time is over has nothing to tell.
  EXPECT_TRUE(told_full_disk_ || !had_full_disk_);
}

TEST_F(CellMemberTest, EndsWhenAnotherServerHasItsName) {
  ASSERT_TRUE(shared()->report({{"b", "tcp://c:1", "another one"}, "standby", "1.2", 0, "", 0}));
  is_unfit_ = true;  // as the writer it would go on
  start();
  const StoreError why = failure();
  EXPECT_EQ(why.kind, StoreError::Kind::denied);
  EXPECT_NE(why.message.find("cell.server"), std::string::npos) << why.message;
}

TEST_F(CellMemberTest, RaisesTheLevelOfTheCellOnceAllItsServersKnowIt) {  // K9
  chain_->set_feature_level(feature_level_min);
  // As a server of an earlier version reports itself.
  ASSERT_TRUE(shared()->report({{"old", "tcp://c:1"}, "standby", "1.1", 0, "", 0}));
  start();
  EXPECT_TRUE(eventually([&] { return is_active_.load(); }));
  EXPECT_EQ(member_->view().feature_level, feature_level_min);
  EXPECT_TRUE(eventually([&] {
    const auto servers = shared()->replicas();
    return servers && servers->size() == 2 &&
           servers->front().feature_level == feature_level_newest;
  }));
  const auto refused = upgrade();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::NOT_ALLOWED);
  EXPECT_NE(refused.error().message.find("old (version 1.1, feature level 1)"), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(shared()->state()->feature_level, feature_level_min);

  chain_->set_clock_ns(machine_wall_ns() +
                       (limits::cell_upgrade_report_ms_max + 60'000) * 1'000'000);
  const auto upgraded = upgrade();
  ASSERT_TRUE(upgraded.has_value()) << upgraded.error().message;
  EXPECT_EQ(upgraded->from, feature_level_min);
  EXPECT_EQ(upgraded->to, feature_level_newest);
  EXPECT_EQ(shared()->state()->feature_level, feature_level_newest);
  EXPECT_EQ(member_->view().feature_level, feature_level_newest);
  const auto again = upgrade();
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(again->from, feature_level_newest);
}

// Its answer is lost, and it is asked again.
TEST_F(CellMemberTest, SaysThatAnUpgradeMayHaveCome) {  // K9
  chain_->set_feature_level(feature_level_min);
  start();
  EXPECT_TRUE(eventually([&] { return is_active_.load(); }));
  chain_->set_stuck(true);
  const auto unknown = upgrade();
  chain_->set_stuck(false);
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().code, ErrorCode::UNKNOWN_OUTCOME) << unknown.error().message;
  EXPECT_EQ(member_->view().feature_level, feature_level_min);
  EXPECT_TRUE(upgrade().has_value());
}

TEST_F(CellMemberTest, RefusesAnUpgradeOnceItIsNotTheWriter) {
  start();
  EXPECT_TRUE(eventually([&] { return is_active_.load(); }));
  member_->stop(/*lets_go=*/true, {});
  const auto refused = upgrade();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::NOT_ACTIVE);
}

TEST_F(CellMemberTest, EndsWhenTheCellIsRaisedAboveWhatItKnows) {  // K9
  is_unfit_ = true;                                                // it stays a standby
  start();
  EXPECT_TRUE(eventually([&] {
    const auto servers = shared()->replicas();
    return servers && servers->size() == 1;
  }));
  chain_->set_feature_level(feature_level_newest + 1);
  const StoreError why = failure();
  EXPECT_EQ(why.kind, StoreError::Kind::unsupported);
  EXPECT_NE(why.message.find("install the version"), std::string::npos) << why.message;
}

// What it has then isn't known, and an answer from it might not be of this log.
TEST_F(CellMemberTest, EndsIfItsDiskFails) {
  append_elsewhere();
  disk_.status = rocksdb::IOStatus::IOError("as the test wishes");
  disk_.fault = test::WriteFault::sync_fails;
  start();
  const StoreError why = failure();
  EXPECT_EQ(why.kind, StoreError::Kind::io);
  EXPECT_NE(why.message.find("the replica"), std::string::npos) << why.message;
  EXPECT_EQ(shared()->state()->epoch, 1U);
  disk_.fault = test::WriteFault::none;
}

// Before the next beat proves that it has the cell, others have to see that its connection is back.
TEST_F(CellMemberTest, AttendsTheCellAgainBeforeItsNextBeat) {  // K3
  start();
  ASSERT_TRUE(eventually([&] { return is_active_.load(); }));
  chain_->set_stuck(true);  // no beat comes through
  chain_->lose_connections();
  EXPECT_TRUE(eventually([&] {
    const auto state = shared()->state();
    return state && state->is_attended;
  }));
  chain_->set_stuck(false);
}

// Its name was given to another one while it didn't report. The cell has its writer all the same.
TEST_F(CellMemberTest, GoesOnAsTheWriterWhenAnotherServerHasItsName) {  // K10
  start();
  ASSERT_TRUE(eventually([&] { return is_active_.load(); }));
  const auto own = [this]() -> std::optional<ReplicaReport> {
    const auto servers = shared()->replicas();
    if (!servers || servers->size() != 1) return std::nullopt;
    return servers->front();
  };
  ASSERT_TRUE(eventually([&] {
    const auto former = own();
    return former && shared()->take_name(*former, "another one").has_value();
  }));
  EXPECT_TRUE(
      eventually([&] { return member_->view().trouble.find("cell.server") != std::string::npos; }));
  EXPECT_TRUE(eventually([&] { return member_->is_current(); }));
  const std::lock_guard lock(mutex_);
  EXPECT_FALSE(failure_.has_value());
}

// As of a database that was the primary, hung, and doesn't know yet that another one is.
TEST_F(CellMemberTest, BelievesNoLossAtOnce) {  // K5
  MemorySharedLog writer(chain_);
  ASSERT_TRUE(writer.take(0, {"a", "tcp://a:1"}).has_value());
  ASSERT_TRUE(*writer.beat({1, 1, 3, 0, false, ""}));
  start();
  EXPECT_TRUE(eventually([&] {
    return member_->view().trouble.find("lost acknowledged records") != std::string::npos;
  }));
  append_elsewhere();
  EXPECT_TRUE(eventually([&] { return log_->tail() == 3; }));
  EXPECT_TRUE(eventually([&] { return is_active_.load(); }));
  const std::lock_guard lock(mutex_);
  EXPECT_FALSE(failure_.has_value());
}

// A replica that is far behind says how far it would have to go, before the database loses it.
TEST_F(CellMemberTest, SaysThatItLags) {  // K5
  MemorySharedLog writer(chain_);
  ASSERT_TRUE(writer.take(0, {"a", "tcp://a:1"}).has_value());
  ASSERT_TRUE(*writer.beat({1, 1, 2 * limits::cell_lag_noted_min, 0, false, ""}));
  start();
  EXPECT_EQ(failure().kind, StoreError::Kind::damaged);
  EXPECT_EQ(lag_, 2 * limits::cell_lag_noted_min);
}

}  // namespace
}  // namespace signalbox
