// Tests which commits HEAD's log says were left: enough that none is lost, and no more.
#include "server/git/worktree_tips.h"

#include <gtest/gtest.h>

#include "server/limits.h"
#include "tests/fixtures/file_content.h"
#include "tests/fixtures/temporary_directory.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

class LeftTips : public ::testing::Test {
 protected:
  using Tips = std::vector<std::string>;

  static std::string id(std::size_t number) {
    std::string digits = std::to_string(number);
    return std::string(40 - digits.size(), 'a') + digits;
  }
  static std::string line(std::size_t before, std::size_t after, const std::string& what) {
    return id(before) + " " + id(after) + " a <a@b> 1 +0000\t" + what + "\n";
  }
  Tips tips_of(const std::string& log) const {
    fs::create_directories(directory_.path() / "logs");
    write_text(directory_.path() / "logs/HEAD", log);
    const auto tips = left_tips(directory_.path(), "git");
    EXPECT_TRUE(tips) << tips.error();
    return tips.value_or(Tips{});
  }

  const TemporaryDirectory directory_;
};

TEST_F(LeftTips, OfALineOfCommitsAreItsLast) {  // A1
  const std::string two = line(1, 2, "commit: a") + line(2, 3, "merge b: Fast-forward");
  EXPECT_EQ(tips_of(two), Tips{id(3)});
  EXPECT_EQ(tips_of(two + line(3, 1, "reset: moving to HEAD~2")), Tips{id(3)});
  EXPECT_EQ(tips_of(two + line(3, 1, "rebase (abort): returning to b")), Tips{id(3)});
}

TEST_F(LeftTips, AreThereAlsoWhereTheLogIsNotWhole) {  // A1
  const std::string one = line(1, 2, "commit: a");
  EXPECT_EQ(tips_of(one + line(7, 8, "commit: b")), (Tips{id(2), id(8)}));
  EXPECT_EQ(tips_of(one + line(7, 1, "reset: moving to a")), (Tips{id(2), id(7)}));
  EXPECT_EQ(tips_of(line(1, 1, "commit: nothing new") + line(1, 2, "commit: a")),
            (Tips{id(1), id(2)}));
}

// Nobody knows how much of the line they have replaced.
TEST_F(LeftTips, AreThoseBeforeOneThatWasReplaced) {  // A1
  const std::string two = line(1, 2, "commit: a") + line(2, 3, "commit: b");
  EXPECT_EQ(tips_of(two + line(3, 9, "rebase (start): checkout main") +
                    line(9, 9, "rebase (finish): returning to refs/heads/b")),
            Tips{id(2)});
  const std::string amended = two + line(3, 4, "commit (amend): b");
  EXPECT_EQ(tips_of(amended), Tips{id(2)});
  EXPECT_EQ(tips_of(amended + line(4, 1, "checkout: moving from b to a")), (Tips{id(2), id(4)}));
}

// `git rebase --quit` logs nothing.
TEST_F(LeftTips, AreWhatARebaseBeganWithUnlessItEnded) {  // A1
  const std::string begun = line(1, 2, "commit: a") + line(2, 3, "commit: b") +
                            line(3, 9, "rebase (start): checkout main");
  const Tips both{id(2), id(3)};
  EXPECT_EQ(tips_of(begun), both);
  EXPECT_EQ(tips_of(begun + line(9, 10, "rebase (pick): say (finish): so")), both);
  const std::string another = begun + line(9, 5, "rebase (start): checkout other");
  EXPECT_EQ(tips_of(another + line(5, 5, "rebase (finish): returning to refs/heads/b")), both);
  EXPECT_EQ(tips_of(begun + line(9, 3, "rebase (abort): returning to b")), (Tips{id(2), id(9)}));
  EXPECT_EQ(tips_of(line(1, 3, "commit: b") + line(3, 9, "pull --rebase . main (start): checkout")),
            (Tips{id(1), id(3)}));
}

TEST_F(LeftTips, OrdinaryCommitsDoNotFillTheirLimit) {  // A1, P8
  std::string log;
  for (std::size_t number = 0; number <= limits::worktree_tips_max + 1; ++number) {
    log += line(number, number + 1, "commit: more");
  }
  EXPECT_EQ(tips_of(log), Tips{id(limits::worktree_tips_max + 2)});
}

}  // namespace
}  // namespace signalbox
