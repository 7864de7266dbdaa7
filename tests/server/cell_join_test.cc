// The start of a server in its cell: what it makes, waits for and refuses.
#include "server/cell/cell_join.h"

#include <fstream>
#include <vector>

#include <gtest/gtest.h>

#include "server/cell/cell_mark.h"
#include "server/limits.h"
#include "store/base64.h"
#include "store/memory_event_log.h"
#include "store/memory_shared_log.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/store/sample_events.h"
#include "tests/store/shared_log_conformance.h"

namespace signalbox {
namespace {

class CellJoinTest : public testing::Test {
 protected:
  CellJoinTest() {
    settings_.name = "main";
    settings_.server = {"b", "tcp://b:1", "this one"};
  }

  // Joins, and calls `waited` whenever it waits; the clock goes on by what it waits for. Stops
  // after ten minutes.
  Stored<std::optional<std::string>> join(const std::function<void()>& waited = [] {}) {
    return join_with(shared_, waited);
  }
  Stored<std::optional<std::string>> join_with(
      SharedLog& shared, const std::function<void()>& waited = [] {}) {
    const std::int64_t until_ms = now_ms_ + 600'000;
    return join_cell({settings_, replica_, directory_.path(), shared, [this] { return now_ms_; },
                      [&](std::int64_t ms) {
                        now_ms_ += ms;
                        waited();
                        return now_ms_ < until_ms;
                      },
                      [this](bool, const std::string& text) { notes_.push_back(text); }, "1.2"},
                     "the key");
  }

  // Takes the cell as another server, and has `positions` acknowledged in it.
  void append_elsewhere(Position positions) {
    MemorySharedLog writer(chain_);
    const auto state = writer.state();
    ASSERT_TRUE(state.has_value());
    const auto epoch = writer.take(state->epoch, {"a", "tcp://a:1"});
    ASSERT_TRUE(epoch.has_value());
    const ChainLink link = test::link_after(*writer.last(), *epoch, positions);
    ASSERT_EQ(writer.append(link).status, SharedAppend::Status::ok);
    ASSERT_TRUE(*writer.beat({*epoch, 1, link.last, 0, false, ""}));
  }

  TemporaryDirectory directory_;
  std::shared_ptr<MemoryChain> chain_ = std::make_shared<MemoryChain>();
  MemorySharedLog shared_{chain_};
  MemoryEventLog replica_;
  CellSettings settings_;
  std::int64_t now_ms_ = 1'000;
  std::vector<std::string> notes_;
};

TEST_F(CellJoinTest, MakesTheCellWithItsLogAndKey) {
  const std::vector<Commit> commits = {test::sample_commit(1, 5)};
  ASSERT_EQ(replica_.append(0, commits).status, AppendStatus::ok);
  const auto key = join();
  ASSERT_TRUE(key.has_value()) << key.error().message;
  EXPECT_EQ(*key, "the key");
  ASSERT_EQ(chain_->links().size(), 1U);
  EXPECT_EQ(chain_->links().front().last, 5U);
}

TEST_F(CellJoinTest, TakesTheKeyOfACellThatIsThere) {
  ASSERT_TRUE(shared_.create(ChainLink{}, to_base64("another key")));
  const auto key = join();
  ASSERT_TRUE(key.has_value()) << key.error().message;
  EXPECT_EQ(*key, "another key");
}

TEST_F(CellJoinTest, RefusesALogThatTheCellsNoLongerContinues) {  // K7
  ASSERT_TRUE(shared_.create(ChainLink{}, to_base64("another key")));
  append_elsewhere(3);
  append_elsewhere(3);
  ASSERT_EQ(shared_.trim(2, 3, 10)->links, 2U);
  const auto refused = join();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, StoreError::Kind::damaged);
  EXPECT_NE(refused.error().message.find("signalbox cell seed"), std::string::npos)
      << refused.error().message;
  EXPECT_TRUE(shared_.replicas()->empty()) << "nothing is kept for it";
  // A log that was copied from another server is one that the cell's continues.
  const std::vector<Commit> commits = {test::sample_commit(1, 3)};
  ASSERT_EQ(replica_.append(0, commits).status, AppendStatus::ok);
  const auto joined = join();
  EXPECT_TRUE(joined.has_value()) << joined.error().message;
}

// As of a connection that was lost between the two reads, and of a primary that knew no better.
TEST_F(CellJoinTest, BelievesNoMissingLinkAtOnce) {  // K7
  ASSERT_TRUE(shared_.create(ChainLink{}, to_base64("another key")));
  append_elsewhere(3);
  append_elsewhere(3);
  class WithoutLinks final : public MemorySharedLog {
   public:
    explicit WithoutLinks(const std::shared_ptr<MemoryChain>& chain) : MemorySharedLog(chain) {}
    Stored<std::vector<ChainLink>> read(Position prev, std::size_t count) override {
      if (has_links) return MemorySharedLog::read(prev, count);
      return std::vector<ChainLink>{};
    }
    void disconnect() override { ++disconnected; }
    bool has_links = false;
    int disconnected = 0;
  };
  WithoutLinks shared(chain_);
  const std::int64_t begun_ms = now_ms_;
  const auto key = join_with(
      shared, [&] { shared.has_links = now_ms_ > begun_ms + limits::cell_loss_ms_min / 2; });
  ASSERT_TRUE(key.has_value()) << key.error().message;
  EXPECT_EQ(*key, "another key");
  EXPECT_GT(shared.disconnected, 0);
  EXPECT_LT(now_ms_, begun_ms + limits::cell_loss_ms_min);
  // In the end it is.
  shared.has_links = false;
  const std::int64_t again_ms = now_ms_;
  EXPECT_EQ(join_with(shared).error().kind, StoreError::Kind::damaged);
  EXPECT_GE(now_ms_, again_ms + limits::cell_loss_ms_min);
}

TEST_F(CellJoinTest, WaitsForADatabaseThatIsAway) {
  chain_->set_away(true);
  const auto key = join([this] { chain_->set_away(now_ms_ < 90'000); });
  ASSERT_TRUE(key.has_value()) << key.error().message;
  EXPECT_EQ(*key, "the key");
  EXPECT_EQ(notes_.size(),
            4U);  // three of a wait of a minute and a half, and that it made the cell
}

TEST_F(CellJoinTest, StopsWhileItWaits) {
  chain_->set_away(true);
  const auto key = join();
  ASSERT_TRUE(key.has_value()) << key.error().message;
  EXPECT_FALSE(key->has_value());
}

// An old backup was restored while all servers were down, and the one that starts first is one
// whose replica never had what is lost.
TEST_F(CellJoinTest, EndsIfTheDatabaseGoesOnRefusingIt) {  // K12
  const std::int64_t begun_ms = now_ms_;
  chain_->set_denied(true);
  const auto refused = join();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, StoreError::Kind::denied);
  // What to do is the log's to say (store/postgres_advice.h).
  EXPECT_NE(refused.error().message.find("refuses the role"), std::string::npos)
      << refused.error().message;
  EXPECT_GE(now_ms_ - begun_ms, limits::cell_denied_ms_max);
  EXPECT_EQ(notes_.size(), 2U);  // of a wait of a minute
}

// One that is being set up refuses at first, and one that is away meanwhile may be another.
TEST_F(CellJoinTest, JoinsADatabaseThatRefusedItForAMoment) {
  const std::int64_t begun_ms = now_ms_;
  chain_->set_denied(true);
  const auto key = join([&] {
    chain_->set_away(now_ms_ == begun_ms + limits::cell_denied_ms_max / 2);
    chain_->set_denied(now_ms_ < begun_ms + limits::cell_denied_ms_max + 1'000);
  });
  EXPECT_TRUE(key.has_value()) << key.error().message;
}

TEST_F(CellJoinTest, RefusesADatabaseThatEndsBeforeWhatItHasSeen) {  // K5
  ASSERT_TRUE(join().has_value());
  append_elsewhere(30);
  ASSERT_TRUE(join().has_value());
  EXPECT_EQ(*read_seen(directory_.path(), "main"), 30U);
  chain_ = std::make_shared<MemoryChain>();
  MemorySharedLog restored(chain_);
  ASSERT_TRUE(restored.create(test::first_link(), "c2VjcmV0"));
  append_elsewhere(29);
  const std::int64_t begun_ms = now_ms_;
  const auto refused = join_with(restored);
  EXPECT_GE(now_ms_, begun_ms + limits::cell_loss_ms_min);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, StoreError::Kind::damaged);
  EXPECT_NE(refused.error().message.find("signalbox cell repair"), std::string::npos)
      << refused.error().message;
  append_elsewhere(1);  // as a repair does
  EXPECT_TRUE(join_with(restored).has_value());
}

// As of a database that was the primary, hung, and doesn't know yet that another one is.
TEST_F(CellJoinTest, BelievesNoLossAtOnce) {  // K5
  ASSERT_TRUE(join().has_value());
  ASSERT_TRUE(note_seen(directory_.path(), "main", 30));
  const std::int64_t begun_ms = now_ms_;
  const auto key = join([&] {
    if (now_ms_ < begun_ms + limits::cell_loss_ms_min / 2 || shared_.last()->last > 0) return;
    append_elsewhere(30);
  });
  EXPECT_TRUE(key.has_value()) << key.error().message;
  EXPECT_LT(now_ms_, begun_ms + limits::cell_loss_ms_min);
}

TEST_F(CellJoinTest, MakesNoCellInPlaceOfTheOneThatItWasOneOf) {  // K5
  ASSERT_TRUE(join().has_value());
  chain_ = std::make_shared<MemoryChain>();
  MemorySharedLog other(chain_);
  const auto refused = join_with(other);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, StoreError::Kind::damaged);
  EXPECT_NE(refused.error().message.find("cell.engine"), std::string::npos)
      << refused.error().message;
  EXPECT_TRUE(chain_->links().empty());
  // A person decides that it is to be made anew; and in a cell of another name nothing was seen.
  ASSERT_TRUE(note_seen(directory_.path(), "another", 7));
  EXPECT_TRUE(join_with(other).has_value());
}

// Somebody drops the cell between two looks of a server that has never been one of it.
class VanishingLog final : public MemorySharedLog {
 public:
  using MemorySharedLog::MemorySharedLog;
  Stored<CellState> state() override {
    if (++looks == 1) return MemorySharedLog::state();
    if (looks < gone_until) return store_failure(StoreError::Kind::not_found, "there is no cell");
    return MemorySharedLog::state();
  }
  [[nodiscard]] Stored<ChainLink> last() override {
    if (looks < gone_until) return store_failure(StoreError::Kind::away, "the connection was lost");
    return MemorySharedLog::last();
  }
  Stored<void> create(const ChainLink& first, const std::string& secret) override {
    ++made;
    return MemorySharedLog::create(first, secret);
  }

  int looks = 0;
  int gone_until = 1'000'000;
  int made = 0;
};

TEST_F(CellJoinTest, MakesNoCellInPlaceOfOneThatVanishesBetweenTwoLooks) {  // K5
  ASSERT_TRUE(shared_.create(test::first_link(), "c2VjcmV0"));
  VanishingLog gone(chain_);
  const auto refused = join_with(gone);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, StoreError::Kind::damaged);
  EXPECT_NE(refused.error().message.find("has just seen the cell main"), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(gone.made, 0);
  // One that is back soon, as a node that hung, is joined.
  VanishingLog back(chain_);
  back.gone_until = 4;
  EXPECT_TRUE(join_with(back).has_value());
  EXPECT_EQ(back.made, 0);
}

TEST_F(CellJoinTest, RefusesANameThatAnotherServerHas) {  // K10
  ASSERT_TRUE(shared_.create(test::first_link(), "c2VjcmV0"));
  const auto other_reports = [this] {
    chain_->set_clock_ns(now_ms_ * 1'000'000);
    EXPECT_TRUE(shared_.report({{"b", "tcp://c:1", "another one"}, "standby", "1.2", 0, "", 0}));
  };
  other_reports();
  const std::int64_t begun_ms = now_ms_;
  const auto refused = join([&] {
    if ((now_ms_ - begun_ms) % limits::cell_report_ms_default == 0) other_reports();
  });
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, StoreError::Kind::denied);
  EXPECT_NE(refused.error().message.find("cell.server"), std::string::npos)
      << refused.error().message;
  EXPECT_LE(now_ms_ - begun_ms, 2 * limits::cell_report_ms_default);
}

TEST_F(CellJoinTest, TakesTheNameOfAServerThatIsGone) {  // K10
  ASSERT_TRUE(shared_.create(test::first_link(), "c2VjcmV0"));
  ASSERT_TRUE(shared_.report({{"b", "tcp://c:1", "another one"}, "standby", "1.2", 0, "", 0}));
  const std::int64_t begun_ms = now_ms_;
  // Only time in which the database could be read counts.
  const std::int64_t back_ms = begun_ms + 10 * limits::cell_gone_ms_max;
  const auto key = join([&] {
    chain_->set_away(now_ms_ > begun_ms + limits::cell_report_ms_default && now_ms_ < back_ms);
  });
  ASSERT_TRUE(key.has_value()) << key.error().message;
  EXPECT_GT(now_ms_, back_ms + limits::cell_gone_ms_max);
  const auto servers = shared_.replicas();
  ASSERT_EQ(servers->size(), 1U);
  EXPECT_EQ(servers->front().server.identity, "this one");
  EXPECT_EQ(servers->front().server.address, "tcp://b:1");
}

// Long before it first reports as a member: it may have much to read until then.
TEST_F(CellJoinTest, HasItsNameFromTheMomentThatItJoins) {  // K10
  ASSERT_TRUE(join().has_value());
  const auto servers = shared_.replicas();
  ASSERT_EQ(servers->size(), 1U);
  EXPECT_EQ(servers->front().role, "unfit");
  EXPECT_EQ(servers->front().version, "1.2");
  EXPECT_EQ(servers->front().feature_level, feature_level_newest);
  EXPECT_EQ(servers->front().root.size(), 64U);
  EXPECT_FALSE(shared_.report({{"b", "tcp://c:1", "another one"}, "standby", "1.2", 0, "", 0}));
}

TEST_F(CellJoinTest, StartsAgainAtOnceAfterACrash) {  // K10
  ASSERT_TRUE(join().has_value());
  ASSERT_TRUE(shared_.report({settings_.server, "standby", "1.2", 0, "", 0}));
  const std::int64_t begun_ms = now_ms_;
  ASSERT_TRUE(join().has_value());
  EXPECT_EQ(now_ms_, begun_ms);
}

TEST_F(CellJoinTest, EndsIfTheCellNeedsANewerProgram) {  // K9
  ASSERT_TRUE(join().has_value());
  chain_->set_feature_level(feature_level_newest + 1);
  const std::int64_t begun_ms = now_ms_;
  const auto refused = join();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, StoreError::Kind::unsupported);
  EXPECT_NE(refused.error().message.find("install the version"), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(now_ms_, begun_ms);
}

// What is noted there is for a later start.
TEST_F(CellJoinTest, JoinsThoughItCannotNoteWhatItHasSeen) {  // K11
  ASSERT_TRUE(join().has_value());
  std::filesystem::create_directory(seen_file(directory_.path()).string() + ".tmp");
  append_elsewhere(30);
  const auto key = join();
  ASSERT_TRUE(key.has_value()) << key.error().message;
  EXPECT_NE(notes_.back().find("can't be noted"), std::string::npos) << notes_.back();
}

// Otherwise it would make the cell anew when it starts with a database that has lost it.
TEST_F(CellJoinTest, WaitsUntilItHasNotedOnceThatItIsOneOfTheCell) {  // K5, K11
  const std::string in_the_way = seen_file(directory_.path()).string() + ".tmp";
  std::filesystem::create_directory(in_the_way);
  ASSERT_TRUE(shared_.create(test::first_link(), "c2VjcmV0"));
  const std::int64_t begun_ms = now_ms_;
  const auto key = join([&] {
    if (now_ms_ < begun_ms + 60'000) return;
    EXPECT_TRUE(shared_.replicas()->empty()) << "it is none of the cell's servers yet";
    std::filesystem::remove(in_the_way);
  });
  ASSERT_TRUE(key.has_value()) << key.error().message;
  EXPECT_GE(now_ms_, begun_ms + 60'000);
  ASSERT_FALSE(notes_.empty());
  EXPECT_NE(notes_.front().find("can't be noted"), std::string::npos) << notes_.front();
  EXPECT_TRUE(read_seen(directory_.path(), "main")->has_value());
  // From then on it doesn't.
  chain_ = std::make_shared<MemoryChain>();
  MemorySharedLog lost(chain_);
  EXPECT_EQ(join_with(lost).error().kind, StoreError::Kind::damaged);
  EXPECT_TRUE(chain_->links().empty());
}

// It isn't the database that is waited for then.
TEST_F(CellJoinTest, EndsIfItCannotReadWhatItHasSeen) {
  std::filesystem::create_directory(seen_file(directory_.path()));
  const auto refused = join();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, StoreError::Kind::io);
  EXPECT_TRUE(notes_.empty());
}

TEST_F(CellJoinTest, BelievesNoOtherFileOfWhatItHasSeen) {
  std::ofstream(seen_file(directory_.path())) << "12";
  const auto refused = join();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, StoreError::Kind::damaged);
  EXPECT_NE(refused.error().message.find("cell_seen"), std::string::npos);
}

}  // namespace
}  // namespace signalbox
