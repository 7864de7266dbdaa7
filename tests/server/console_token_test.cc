// The token of `signalbox console`, which may be open for longer than a token lives.
#include "tools/console/console_token.h"

#include <gtest/gtest.h>

#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

constexpr std::int64_t token_hour_ms = 60LL * 60 * 1000;

class ConsoleTokenTest : public testing::Test {
 protected:
  Called<IssuedToken> issue() {
    ++asked_;
    if (is_away_) return tl::unexpected(io_error("the server is away"));
    const std::string number = std::to_string(++issued_);
    return IssuedToken{"id " + number, "secret " + number, "operator"};
  }

  TestClock clock_;
  int asked_ = 0;
  int issued_ = 0;
  bool is_away_ = false;
  ConsoleToken token_{*issue(), [this] { return issue(); }, clock_};
};

TEST_F(ConsoleTokenTest, AnotherOneTakesItsPlaceBeforeItEnds) {
  clock_.advance_ms(10 * token_hour_ms);
  EXPECT_EQ(token_.secret(), "secret 1");
  clock_.advance_ms(token_hour_ms);
  EXPECT_EQ(token_.secret(), "secret 2");
  EXPECT_EQ(token_.secret(), "secret 2");
  EXPECT_EQ(token_.usable_ids(), (std::vector<std::string>{"id 1", "id 2"}));
  // Nobody asked for a day.
  clock_.advance_ms(24 * token_hour_ms);
  EXPECT_EQ(token_.secret(), "secret 3");
  EXPECT_EQ(token_.usable_ids(), std::vector<std::string>{"id 3"}) << "the others have ended";
}

TEST_F(ConsoleTokenTest, WhileNoneCanBeIssuedItTriesAgainOnceAMinute) {
  is_away_ = true;
  clock_.advance_ms(13 * token_hour_ms);
  EXPECT_EQ(token_.secret(), "secret 1");
  clock_.advance_ms(console_token_pause_ms - 1);
  EXPECT_EQ(token_.secret(), "secret 1");
  EXPECT_EQ(asked_, 2);
  clock_.advance_ms(1);
  EXPECT_EQ(token_.secret(), "secret 1");
  EXPECT_EQ(asked_, 3);
  is_away_ = false;
  clock_.advance_ms(console_token_pause_ms);
  EXPECT_EQ(token_.secret(), "secret 2");
}

TEST_F(ConsoleTokenTest, WhoHasATokenAlreadyKeepsIt) {
  ConsoleToken given(
      {"", "mine", "viewer"}, [this] { return issue(); }, clock_);
  clock_.advance_ms(100 * token_hour_ms);
  EXPECT_EQ(given.secret(), "mine");
  EXPECT_EQ(given.usable_ids(), std::vector<std::string>{});
  EXPECT_EQ(asked_, 1);
}

}  // namespace
}  // namespace signalbox
