// A server of a cell drops what another one has dropped: when it does, what it refuses, and what it
// tries again. The threads are the test's own.
#include "server/scheduler/followed_drops.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "projections/base_redaction.h"
#include "store/chain_erasure.h"
#include "store/memory_event_log.h"
#include "store/memory_shared_log.h"
#include "store/sha256.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/server/dropped_records.h"

namespace signalbox {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

// A clock that the test sets.
class SetClock final : public Clock {
 public:
  std::int64_t now_ns = second_ns;

  [[nodiscard]] std::int64_t wall_ns() const override { return now_ns; }
  [[nodiscard]] std::int64_t monotonic_ns() const override { return now_ns; }
};

// A server of the cell.
struct DropReplica {
  std::shared_ptr<MemoryChain> chain;
  std::optional<AppendFault> fault;  // of every write
  MemoryEventLog replica{{[this](std::uint64_t) { return fault; }, nullptr}};
  ReplicatedEventLog log{replica, std::make_unique<MemorySharedLog>(chain),
                         [](const std::string&) {}};

  explicit DropReplica(std::shared_ptr<MemoryChain> shared) : chain(std::move(shared)) {
    log.set_redact_base(redacted_base);
  }
  void follow() {
    MemorySharedLog reader(chain);
    const auto links = reader.read(log.tail(), 1000);
    ASSERT_TRUE(links);
    for (const ChainLink& link : *links) ASSERT_TRUE(log.follow(link));
  }
};

class FollowedDropsTest : public testing::Test {
 protected:
  FollowedDropsTest() {
    MemorySharedLog shared(chain_);
    EXPECT_TRUE(shared.create(first_link(writer_.log), "secret"));
    EXPECT_EQ(shared.take(0, {"writer", "tcp://127.0.0.1:1"}).value(), 1U);
    writer_.log.begin_epoch(1, *shared.last());
    append(ServerEvent(ServerStarted{1, "1.0", PreviousEnd::none}));
    for (int count = 0; count < 5; ++count) append(ServerEvent(ClockJumped{}));
    drops_ = std::make_unique<FollowedDrops>(
        FollowedDrops::Parts{own_.log, clock_, turn_, data_.path(), BlockingPool(at_once, at_once),
                             [this](Position) { return has_rows_; },
                             [this](const std::atomic<bool>&) -> Stored<void> {
                               ++rows_renewed_;
                               if (rows_fail_)
                                 return store_failure(StoreError::Kind::io, "no rows");
                               return {};
                             },
                             [this](Position dropped_at) { dropped_.push_back(dropped_at); },
                             [this](const std::string& why) { notes_.push_back(why); }});
  }

  static void at_once(std::function<void()> action) { action(); }

  void append(ServerEvent event) { test::append_event(writer_.log, std::move(event)); }
  // Has the writer drop what is before its fourth record, and say so, with another base if the test
  // wants it.
  void drop(bool says_so = true) {
    test::drop_until(
        writer_.log, 3,
        says_so ? nullptr : +[](HistoryDropped& event) { event.base.bytes[0] ^= 1; });
  }

  // Has the writer redact the pause of the service at `position`, which a drop kept. Returns the
  // position of the PayloadRedacted.
  Position redact(Position position) {
    ReplicatedEventLog& log = writer_.log;
    const Record record = log.read(position, 1)->front();
    const Event replacement = ServerEvent(ServicePaused{"[redacted]"});
    StagedRedaction staged = log.stage_redaction(position, replacement, Salt{}).value();
    const Horizon horizon = log.horizon();
    const std::string base = redacted_base(log, record, replacement).value();
    staged.base = log.stage_drop({horizon.position, horizon.kept, base}, nullptr).value();
    EXPECT_FALSE(log.store_base_part(*staged.base).value());
    HistoryDropped renewal =
        *event_as<HistoryDropped>(log.read_commit(horizon.dropped_at)->front().event);
    renewal.base = sha256(base);
    Commit commit{test::next_record(log, ServerEvent(renewal))};
    PayloadRedacted event;
    event.redacted_position = position;
    event.event = ServicePaused::tag.name;
    Record note = commit.front();
    ++note.position;
    note.stream = Stream::access();
    note.event = AccessEvent(event);
    set_digests(note, staged.redacted);
    commit.push_back(std::move(note));
    const auto result = log.commit_redaction(log.tail(), commit, staged);
    EXPECT_TRUE(result && result->status == AppendStatus::ok);
    return log.tail();
  }

  TemporaryDirectory data_;
  SetClock clock_;
  RewritingTurn turn_;
  const std::shared_ptr<MemoryChain> chain_ = std::make_shared<MemoryChain>();
  DropReplica writer_{chain_};
  DropReplica own_{chain_};
  bool has_rows_ = true;
  bool rows_fail_ = false;
  int rows_renewed_ = 0;
  std::vector<Position> dropped_;
  std::vector<std::string> notes_;
  std::unique_ptr<FollowedDrops> drops_;
};

TEST_F(FollowedDropsTest, AreMadeOnceTheyAreFollowed) {  // K7
  own_.follow();
  drops_->look();
  EXPECT_EQ(drops_->due_horizon(), 0U);
  drop();
  append(ServerEvent(ClockJumped{}));
  own_.follow();
  EXPECT_EQ(drops_->due_horizon(), 3U);
  ASSERT_TRUE(turn_.take());  // something else rewrites the log
  drops_->look();
  EXPECT_EQ(own_.log.horizon().position, 0U);
  turn_.give_back();
  drops_->look();
  EXPECT_EQ(dropped_, (std::vector<Position>{7}));
  EXPECT_EQ(drops_->due_horizon(), 0U);
  EXPECT_EQ(own_.log.horizon().position, 3U);
  EXPECT_EQ(own_.log.horizon().dropped_at, 7U);
  EXPECT_EQ(own_.log.base().value(), writer_.log.base().value());
  EXPECT_EQ(own_.log.frontier(), writer_.log.frontier());
  EXPECT_EQ(rows_renewed_, 1);
  EXPECT_TRUE(drops_->trouble().empty() && notes_.empty());
  EXPECT_TRUE(turn_.take()) << "it was given back";
}

// The records are the writer's all the same, so the server serves them.
TEST_F(FollowedDropsTest, ThatWouldDifferDropNothingAndAreTold) {  // K7
  drop(/*says_so=*/false);
  own_.follow();
  drops_->look();
  EXPECT_NE(drops_->trouble().find("signalbox cell seed"), std::string::npos) << drops_->trouble();
  clock_.now_ns += 3600 * second_ns;
  drops_->look();
  EXPECT_EQ(notes_, (std::vector<std::string>{drops_->trouble()})) << "once";
  EXPECT_TRUE(turn_.take()) << "it was given back";
  EXPECT_EQ(own_.log.horizon().position, 0U);
  EXPECT_TRUE(own_.log.read(1, 1));
  EXPECT_EQ(own_.log.due_drops(), (std::vector<Position>{7})) << "the next start finds it again";
  EXPECT_TRUE(dropped_.empty());
}

TEST_F(FollowedDropsTest, AreTriedAgainAfterAWhile) {  // K7
  drop();
  own_.follow();
  has_rows_ = false;
  drops_->look();
  ASSERT_EQ(notes_.size(), 1U);
  EXPECT_NE(notes_[0].find("isn't dropped here yet"), std::string::npos) << notes_[0];
  has_rows_ = true;
  drops_->look();
  EXPECT_TRUE(dropped_.empty());
  clock_.now_ns += 31 * second_ns;
  drops_->look();
  EXPECT_EQ(dropped_.size(), 1U);
  EXPECT_EQ(own_.log.horizon().position, 3U);
}

// Somebody has to make room, so it isn't only said once in the service's log.
TEST_F(FollowedDropsTest, ThatFindNoSpaceAreShownAndTriedAgain) {  // K7
  drop();
  own_.follow();
  own_.fault = AppendFault{AppendStatus::full};
  drops_->look();
  ASSERT_EQ(notes_.size(), 1U);
  EXPECT_EQ(drops_->undropped_because(), "") << "it may be over soon";
  for (int attempt = 0; attempt < 2; ++attempt) {
    clock_.now_ns += 31 * second_ns;
    drops_->look();
  }
  EXPECT_EQ(drops_->undropped_because(), notes_.back());
  EXPECT_NE(notes_.back().find("no space left"), std::string::npos) << notes_.back();
  EXPECT_EQ(drops_->trouble(), "");
  own_.fault.reset();
  clock_.now_ns += 31 * second_ns;
  drops_->look();
  EXPECT_EQ(drops_->undropped_because(), "");
  EXPECT_EQ(own_.log.horizon().position, 3U);
}

TEST_F(FollowedDropsTest, WhatFailsAfterThemIsTriedAgain) {  // K7
  drop();
  own_.follow();
  rows_fail_ = true;
  drops_->look();
  EXPECT_EQ(dropped_, (std::vector<Position>{7}));
  ASSERT_EQ(notes_.size(), 1U);
  EXPECT_NE(notes_[0].find("no rows"), std::string::npos) << notes_[0];
  drops_->look();
  EXPECT_EQ(rows_renewed_, 1) << "not at once";
  rows_fail_ = false;
  clock_.now_ns += 31 * second_ns;
  drops_->look();
  EXPECT_EQ(rows_renewed_, 2);
  EXPECT_TRUE(turn_.take()) << "it was given back";
  turn_.give_back();
  clock_.now_ns += 31 * second_ns;
  drops_->look();
  EXPECT_EQ(rows_renewed_, 2);
  EXPECT_EQ(dropped_.size(), 1U);
}

// The database has a kept record without the text that it had when the drop was recorded. What
// proves that is followed later, with what the base is since then.
TEST_F(FollowedDropsTest, AwaitTheRedactionOfWhatTheyKeep) {  // K7
  append(ServerEvent(ServicePaused{"the secret"}));
  const Position position = writer_.log.tail();
  append(ServerEvent(ClockJumped{}));
  test::drop_until(writer_.log, static_cast<std::int64_t>(position));
  const Position dropped_at = writer_.log.tail();
  ASSERT_NE(writer_.log.base().value().find("the secret"), std::string::npos);
  const Position redacted_at = redact(position);
  const MemoryEventLog& replica = writer_.replica;
  MemorySharedLog shared(chain_);
  ASSERT_TRUE(erase_from_chain(shared, replica, 1, redacted_at));

  while (own_.log.tail() < dropped_at) {
    ASSERT_TRUE(own_.log.follow(MemorySharedLog(chain_).read(own_.log.tail(), 1)->front()));
  }
  drops_->look();
  EXPECT_EQ(own_.log.horizon().position, 0U);
  EXPECT_TRUE(notes_.empty() && drops_->trouble().empty());
  own_.follow();
  drops_->look();
  EXPECT_EQ(dropped_, (std::vector<Position>{redacted_at - 1}));
  EXPECT_TRUE(drops_->trouble().empty()) << drops_->trouble();
  EXPECT_EQ(own_.log.base().value(), writer_.log.base().value());
  EXPECT_EQ(own_.log.base().value().find("the secret"), std::string::npos);
  EXPECT_EQ(drops_->due_horizon(), 0U);
}

// One that has the base already computes another one than its event says: it serves without the
// text, and says what to do.
TEST_F(FollowedDropsTest, OfABaseThatWouldDifferAreTold) {  // K7
  append(ServerEvent(ServicePaused{"the secret"}));
  const Position position = writer_.log.tail();
  append(ServerEvent(ClockJumped{}));
  test::drop_until(writer_.log, static_cast<std::int64_t>(position));
  own_.follow();
  drops_->look();
  ASSERT_EQ(own_.log.horizon().position, position);
  own_.log.set_redact_base([](const EventLog& log, const Record& record, const Event&) {
    const Event other = ServerEvent(ServicePaused{"another text"});
    return redacted_base(log, record, other);
  });
  redact(position);
  own_.follow();
  EXPECT_EQ(own_.log.base().value().find("the secret"), std::string::npos);
  drops_->look();
  EXPECT_NE(drops_->trouble().find("signalbox cell seed"), std::string::npos) << drops_->trouble();
  EXPECT_EQ(notes_.size(), 1U);
}

TEST_F(FollowedDropsTest, AreLeftToTheNextStartByAStop) {  // K7
  drop();
  own_.follow();
  drops_->stop();
  drops_->look();
  EXPECT_EQ(own_.log.horizon().position, 0U);
  EXPECT_EQ(own_.log.due_drops().size(), 1U);
}

}  // namespace
}  // namespace signalbox
