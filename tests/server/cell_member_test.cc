// A server as a member of its cell, on its own thread, over a shared log in memory: what it does
// when it may not, or can't, take the cell.
#include "server/cell/cell_member.h"

#include <atomic>
#include <mutex>

#include <gtest/gtest.h>

#include "store/memory_shared_log.h"
#include "store/rocks_event_log.h"
#include "tests/eventually.h"
#include "tests/fixtures/temporary_directory.h"

namespace signalbox {
namespace {

class CellMemberTest : public testing::Test {
 protected:
  CellMemberTest() {
    settings_.name = "main";
    settings_.server = {"b", "tcp://b:1", "this one"};
    auto opened = RocksEventLog::open(directory_.path(), {});
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
    member_->start();
  }
  [[nodiscard]] std::unique_ptr<SharedLog> shared() const {
    return std::make_unique<MemorySharedLog>(chain_);
  }
  CellMember::Hooks hooks() {
    return {[this](const FollowedLink&) { member_->note_applied(); },
            [](std::int64_t) {},
            [this] { is_active_ = true; },
            [](const std::string&) {},
            [this](const StoreError& error) {
              const std::lock_guard lock(mutex_);
              failure_ = error;
            },
            [](bool, const std::string&) {},
            [this](Position acked) { lag_ = acked; }};
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

  const std::shared_ptr<MemoryChain> chain_ = std::make_shared<MemoryChain>();
  TemporaryDirectory directory_;
  std::unique_ptr<RocksEventLog> replica_;
  CellSettings settings_;
  std::atomic<bool> is_active_ = false;
  std::atomic<Position> lag_ = 0;
  std::mutex mutex_;
  std::optional<StoreError> failure_;
  std::unique_ptr<ReplicatedEventLog> log_;
  std::unique_ptr<CellMember> member_;
};

TEST_F(CellMemberTest, TakesACellThatNobodyHasHad) {  // K3
  start();
  EXPECT_TRUE(eventually([&] { return is_active_.load(); }));
  EXPECT_EQ(member_->view().role, CellRole::active);
}

TEST_F(CellMemberTest, EndsWhenAnotherServerHasItsName) {
  ASSERT_TRUE(shared()->report({{"b", "tcp://c:1", "another one"}, "standby", "1.2", 0, "", 0}));
  start();
  const StoreError why = failure();
  EXPECT_EQ(why.kind, StoreError::Kind::denied);
  EXPECT_NE(why.message.find("cell.server"), std::string::npos) << why.message;
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
