// The start of a server in its cell: what it makes, waits for and refuses.
#include "server/cell/cell_join.h"

#include <vector>

#include <gtest/gtest.h>

#include "server/limits.h"
#include "store/base64.h"
#include "store/memory_event_log.h"
#include "store/memory_shared_log.h"
#include "tests/store/sample_events.h"

namespace signalbox {
namespace {

class CellJoinTest : public testing::Test {
 protected:
  CellJoinTest() {
    settings_.name = "main";
    settings_.server = {"b", "tcp://b:1"};
  }

  // Joins, and calls `waited` whenever it waits; the clock goes on by what it waits for. Stops
  // after ten minutes.
  Stored<std::optional<std::string>> join(const std::function<void()>& waited = [] {}) {
    const std::int64_t until_ms = now_ms_ + 600'000;
    return join_cell({settings_, replica_, shared_, [this] { return now_ms_; },
                      [&](std::int64_t ms) {
                        now_ms_ += ms;
                        waited();
                        return now_ms_ < until_ms;
                      },
                      [this](bool, const std::string& text) { notes_.push_back(text); }},
                     "the key");
  }

  const std::shared_ptr<MemoryChain> chain_ = std::make_shared<MemoryChain>();
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

}  // namespace
}  // namespace signalbox
