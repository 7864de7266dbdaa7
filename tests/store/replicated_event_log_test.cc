// The log of a server in a cell: what it does when answers are lost, the shared log is away, or
// another server has taken it; and what a follower takes and refuses (BEHAVIOURS, chapter K).
#include "store/replicated_event_log.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "store/memory_shared_log.h"
#include "store/rocks_event_log.h"
#include "tests/eventually.h"
#include "tests/fixtures/stepped_time.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/store/faulty_disk.h"
#include "tests/store/sample_events.h"

namespace signalbox::test {
namespace {

// A server of the cell: its replica, and its log over it.
struct Member {
  TemporaryDirectory directory;
  FaultyDisk disk;
  std::unique_ptr<RocksEventLog> replica;
  std::unique_ptr<ReplicatedEventLog> log;
  std::unique_ptr<MemorySharedLog> reader;
  std::vector<std::string> notes;

  explicit Member(const std::shared_ptr<MemoryChain>& chain)
      : reader(std::make_unique<MemorySharedLog>(chain)) {
    open();
    log = std::make_unique<ReplicatedEventLog>(
        *replica, std::make_unique<MemorySharedLog>(chain, std::chrono::milliseconds(50)),
        [this](const std::string& why) { notes.push_back(why); });
  }
  void open() {
    RocksEventLog::Options options;
    options.env = disk.env();
    options.full_pause = std::chrono::milliseconds(1);
    auto opened = RocksEventLog::open(directory.path(), std::move(options));
    ASSERT_TRUE(opened) << opened.error().message;
    replica = std::move(*opened);
  }
  // Follows all that can be read, and takes the log.
  void take() {
    const auto state = reader->state();
    ASSERT_TRUE(state) << state.error().message;
    const auto epoch = reader->take(state->epoch, {"server", "tcp://127.0.0.1:1"});
    ASSERT_TRUE(epoch) << epoch.error().message;
    follow();
    const auto last = reader->last();
    ASSERT_TRUE(last) << last.error().message;
    log->begin_epoch(*epoch, *last);
  }
  void follow() {
    const auto links = reader->read(log->tail(), 1000);
    ASSERT_TRUE(links) << links.error().message;
    for (const ChainLink& link : *links) {
      const auto followed = log->follow(link);
      ASSERT_TRUE(followed) << followed.error().message;
      EXPECT_EQ(followed->tail, link.last);
    }
  }
  AppendResult append(std::size_t records) {
    const std::vector<Commit> commits = {sample_commit(log->tail() + 1, records)};
    return log->append(log->tail(), commits);
  }
};

class ReplicatedLog : public testing::Test {
 protected:
  ReplicatedLog() {
    EXPECT_TRUE(first_.reader->create(first_link(*first_.replica), "secret"));
    first_.take();
  }

  // Returns how many links have records.
  [[nodiscard]] std::size_t links() const { return chain_->links().size() - 1; }

  const std::shared_ptr<MemoryChain> chain_ = std::make_shared<MemoryChain>();
  Member first_{chain_};
};

TEST_F(ReplicatedLog, GivesEveryReplicaTheSameBytes) {  // K5
  Member second(chain_);
  ASSERT_EQ(first_.append(3).status, AppendStatus::ok);
  const std::vector<Commit> batch = {sample_commit(4, 1), sample_commit(5, 2)};
  ASSERT_EQ(first_.log->append(3, batch).status, AppendStatus::ok);
  EXPECT_EQ(links(), 2U);  // a batch is one link
  second.follow();
  EXPECT_EQ(second.log->frontier(), first_.log->frontier());
  EXPECT_EQ(*second.log->read(1, 10), sample_commit(1, 6));
  // The salts are part of the leaves, so equal trees are equal bytes; and they are there again
  // after an opening, which computes the tree from them.
  const MerkleFrontier tree = second.log->frontier();
  ASSERT_TRUE(second.replica->close());
  second.replica.reset();
  second.open();
  EXPECT_EQ(second.replica->frontier(), tree);
}

TEST_F(ReplicatedLog, SendsTheSameAgainAfterALostAnswer) {  // K2: trap 3
  for (const auto fate : {MemoryChain::LostAppend::vanishes, MemoryChain::LostAppend::lands,
                          MemoryChain::LostAppend::lands_later}) {
    const std::size_t before = links();
    chain_->lose_next_append(fate);
    ASSERT_EQ(first_.append(2).status, AppendStatus::ok) << static_cast<int>(fate);
    EXPECT_EQ(links(), before + 1) << static_cast<int>(fate);
    EXPECT_EQ(chain_->links().back().last, first_.log->tail());
  }
  Member second(chain_);
  second.follow();
  EXPECT_EQ(second.log->frontier(), first_.log->frontier());
}

// K2, K3: what was in the way is gone, and nobody has taken the log.
TEST_F(ReplicatedLog, SendsTheSameAgainIfAFailoverTookWhatItFoundThere) {
  ASSERT_EQ(first_.append(1).status, AppendStatus::ok);
  chain_->lose_next_append(MemoryChain::LostAppend::lands_and_goes);
  const AppendResult again = first_.append(2);
  EXPECT_EQ(again.status, AppendStatus::ok) << again.message;
  EXPECT_EQ(chain_->links().back().last, first_.log->tail());
  EXPECT_EQ(chain_->acknowledged(), chain_->links().size());
}

// K2, K9: the database has lost what it had acknowledged, so nothing can ever follow on that.
TEST_F(ReplicatedLog, IsDeposedIfAFailoverTookWhatWasAcknowledged) {
  ASSERT_EQ(first_.append(1).status, AppendStatus::ok);
  chain_->set_acknowledged(chain_->links().size() - 1);
  chain_->lose_next_append(MemoryChain::LostAppend::lands_and_goes);
  EXPECT_EQ(first_.append(1).status, AppendStatus::conflict);
}

TEST_F(ReplicatedLog, AppendsNothingOnceAnotherHasTakenIt) {  // K3
  ASSERT_EQ(first_.append(1).status, AppendStatus::ok);
  Member second(chain_);
  second.take();
  EXPECT_EQ(first_.append(1).status, AppendStatus::conflict);
  EXPECT_EQ(first_.log->tail(), 1U);  // its replica has nothing that isn't in the chain
  ASSERT_EQ(second.append(1).status, AppendStatus::ok);
  EXPECT_EQ(chain_->links().back().last, 2U);
  first_.follow();
  EXPECT_EQ(first_.log->frontier(), second.log->frontier());
}

TEST_F(ReplicatedLog, IsDeposedByWhoTookItWhileItsAnswerWasLost) {  // K2: trap 3
  chain_->lose_next_append(MemoryChain::LostAppend::lands);
  std::thread writer([this] { EXPECT_NE(first_.append(1).status, AppendStatus::unknown); });
  writer.join();
  Member second(chain_);
  second.take();
  EXPECT_EQ(second.log->tail(), 1U);  // what landed is before the new writer's
}

TEST_F(ReplicatedLog, WaitsWhileTheSharedLogIsAway) {
  chain_->set_away(true);
  std::thread back([this] {
    while (first_.reader->state()) std::this_thread::yield();  // it is away
    chain_->set_away(false);
  });
  EXPECT_EQ(first_.append(1).status, AppendStatus::ok);
  back.join();
  EXPECT_EQ(links(), 1U);
  if (!first_.notes.empty()) {
    EXPECT_EQ(first_.notes.back(), "");  // it is back
  }
}

// A database that is full, say, and logs each attempt.
class RefusingLog final : public MemorySharedLog {
 public:
  RefusingLog(std::shared_ptr<MemoryChain> chain, std::atomic<int>& attempts)
      : MemorySharedLog(std::move(chain)), attempts_(attempts) {}
  SharedAppend append(const ChainLink& /*link*/) override {
    ++attempts_;
    return {SharedAppend::Status::away, "there is no space"};
  }

 private:
  std::atomic<int>& attempts_;
};

TEST_F(ReplicatedLog, TriesLessOftenOnceAnOutageLasts) {  // K12
  const auto time = std::make_shared<SteppedTime>();
  auto own_waiter = std::make_unique<SteppedWaiter>(time);
  const SteppedWaiter& waiter = *own_waiter;
  std::atomic<int> attempts = 0;
  Member member(chain_);
  ReplicatedEventLog log(
      *member.replica, std::make_unique<RefusingLog>(chain_, attempts), [](const std::string&) {},
      std::move(own_waiter));
  std::thread writer([&] {
    const std::vector<Commit> commits = {sample_commit(1, 1)};
    EXPECT_EQ(log.append(0, commits).status, AppendStatus::unknown);
  });
  const auto attempts_in = [&](int seconds) {
    const int before = attempts;
    for (int step = 0; step < 10 * seconds; ++step) {
      EXPECT_TRUE(eventually([&] { return waiter.is_waiting(); }));
      time->pass(100);
    }
    return attempts - before;
  };
  EXPECT_GE(attempts_in(5), 49);
  (void)attempts_in(6);
  EXPECT_LE(attempts_in(5), 11);
  log.interrupt();
  writer.join();
}

TEST_F(ReplicatedLog, GivesUpWhenItIsInterrupted) {
  chain_->set_away(true);
  std::thread stop([this] { first_.log->interrupt(); });
  EXPECT_EQ(first_.append(1).status, AppendStatus::unknown);
  stop.join();
  EXPECT_EQ(first_.log->tail(), 0U);
}

TEST_F(ReplicatedLog, MakesSeveralLinksOfALargeBatch) {
  std::vector<Commit> batch;
  for (Position at = 1; at <= 40; ++at) {
    RunStarted started;
    started.input = std::string(50 * 1024, static_cast<char>('a' + at % 26));
    batch.push_back({sample_record(at, RunEvent(started))});
  }
  ASSERT_EQ(first_.log->append(0, batch).status, AppendStatus::ok);
  EXPECT_GE(links(), 2U);
  for (const ChainLink& link : chain_->links()) EXPECT_LE(link.bytes.size(), 1024U * 1024U + 200U);
  Member second(chain_);
  second.follow();
  EXPECT_EQ(second.log->tail(), 40U);
  EXPECT_EQ(second.log->frontier(), first_.log->frontier());
}

TEST_F(ReplicatedLog, FollowsNothingThatWasChanged) {  // K5
  ASSERT_EQ(first_.append(2).status, AppendStatus::ok);
  const ChainLink good = chain_->links().back();
  Member second(chain_);
  ChainLink other_bytes = good;
  other_bytes.bytes.back() = static_cast<char>(other_bytes.bytes.back() ^ 1);
  ChainLink other_head = good;
  other_head.head.back() = static_cast<char>(other_head.head.back() ^ 1);
  ChainLink other_end = good;
  ++other_end.last;
  ChainLink elsewhere = good;
  ++elsewhere.prev;
  for (const ChainLink& bad : {other_bytes, other_head, other_end, elsewhere}) {
    const auto followed = second.log->follow(bad);
    ASSERT_FALSE(followed);
    EXPECT_EQ(followed.error().kind, StoreError::Kind::damaged) << followed.error().message;
    EXPECT_EQ(second.log->tail(), 0U);
  }
  EXPECT_TRUE(second.log->follow(good));
}

TEST_F(ReplicatedLog, BeginsACellWithALogThatIsThere) {
  TemporaryDirectory directory;
  auto old = RocksEventLog::open(directory.path(), {});
  ASSERT_TRUE(old);
  const std::vector<Commit> commits = {sample_commit(1, 5)};
  ASSERT_EQ((*old)->append(0, commits).status, AppendStatus::ok);
  const ChainLink first = first_link(**old);
  EXPECT_EQ(first.last, 5U);
  EXPECT_EQ(first.prev, before_chain);
  EXPECT_TRUE(first.bytes.empty());
}

// What the shared log has acknowledged stays there: another server follows it and takes over. This
// one follows once there is space.
TEST_F(ReplicatedLog, IsDeposedByAFullDisk) {  // K3
  ASSERT_EQ(first_.append(1).status, AppendStatus::ok);
  first_.disk.fault = WriteFault::append_fails;
  const AppendResult refused = first_.append(2);
  EXPECT_EQ(refused.status, AppendStatus::conflict);
  EXPECT_NE(refused.message.find("replica"), std::string::npos) << refused.message;
  EXPECT_EQ(first_.log->tail(), 1U);
  EXPECT_EQ(chain_->links().back().last, 3U);
  Member second(chain_);
  second.take();
  ASSERT_EQ(second.append(1).status, AppendStatus::ok);
  const auto links = first_.reader->read(1, 10);
  ASSERT_TRUE(links) << links.error().message;
  const auto full = first_.log->follow(links->front());
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().kind, StoreError::Kind::full) << full.error().message;
  first_.disk.fault = WriteFault::none;
  EXPECT_TRUE(eventually([&] { return first_.log->follow(links->front()).has_value(); }));
  first_.follow();
  EXPECT_EQ(first_.log->frontier(), second.log->frontier());
}

// A follower doesn't wait for its disk at each link: that there is no space is found out by a sync
// of what is there already, and that was followed.
TEST_F(ReplicatedLog, HasFollowedWhatThereIsNoSpaceToSync) {
  Member second(chain_);
  ASSERT_EQ(first_.append(2).status, AppendStatus::ok);
  ASSERT_EQ(first_.append(3).status, AppendStatus::ok);
  const auto links = second.reader->read(0, 2);
  ASSERT_TRUE(links) << links.error().message;
  ASSERT_EQ(links->size(), 2U);
  second.disk.fault = WriteFault::sync_fails;
  const auto followed = second.log->follow(links->front());
  ASSERT_TRUE(followed) << followed.error().message;
  EXPECT_EQ(followed->tail, 2U);
  EXPECT_EQ(second.log->follow(links->back()).error().kind, StoreError::Kind::full);
  EXPECT_EQ(second.log->tail(), 2U);
  EXPECT_EQ(*second.log->read(1, 10), sample_commit(1, 2));
  second.disk.fault = WriteFault::none;
  EXPECT_TRUE(eventually([&] { return second.log->follow(links->back()).has_value(); }));
  EXPECT_EQ(second.log->frontier(), first_.log->frontier());
}

TEST_F(ReplicatedLog, RedactsNothing) {
  ASSERT_EQ(first_.append(1).status, AppendStatus::ok);
  const auto refused = first_.log->redact(1, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, StoreError::Kind::unsupported);
}

}  // namespace
}  // namespace signalbox::test
