// Which branches of runs go, and which hold work.
#include "server/git/run_branch_removal.h"

#include <gtest/gtest.h>

#include "tests/fixtures/git_repository.h"
#include "tests/fixtures/temporary_directory.h"

namespace signalbox {
namespace {

class RunBranchRemovalTest : public testing::Test {
 protected:
  void SetUp() override { make_repository(repository_, {{"file.txt", "one\n"}}); }
  // Makes the branch, with a commit of its own if `has_work`.
  void make_branch(bool has_work) const {
    run_git(repository_, {"checkout", "--quiet", "-b", branch_});
    if (has_work) commit_everything(repository_, "work");
    run_git(repository_, {"checkout", "--quiet", "main"});
  }
  [[nodiscard]] BranchOutcome remove(bool is_dry = false) const {
    return remove_merged_branch(repository_, branch_, is_dry);
  }
  [[nodiscard]] bool is_there() const {
    return !run_git(repository_, {"branch", "--list", branch_}).empty();
  }

  TemporaryDirectory scratch_;
  const std::filesystem::path repository_ = scratch_.path() / "repository";
  const std::string branch_ = "signalbox/run-1";
};

TEST_F(RunBranchRemovalTest, OneWithoutWorkGoes) {  // A15
  EXPECT_EQ(remove().result, BranchRemoval::nothing_there);
  make_branch(/*has_work=*/false);
  EXPECT_EQ(remove(/*is_dry=*/true).result, BranchRemoval::removed);
  EXPECT_TRUE(is_there());
  EXPECT_EQ(remove().result, BranchRemoval::removed);
  EXPECT_FALSE(is_there());
}

TEST_F(RunBranchRemovalTest, OneWithWorkStaysUntilItIsMerged) {  // A15
  make_branch(/*has_work=*/true);
  run_git(repository_, {"update-ref", "refs/signalbox/base/other", branch_});
  EXPECT_EQ(remove().reason, "it has commits that no other ref has");
  EXPECT_TRUE(is_there());
  run_git(repository_, {"merge", "--quiet", "--ff-only", branch_});
  EXPECT_EQ(remove().result, BranchRemoval::removed);
}

TEST_F(RunBranchRemovalTest, OneThatIsPushedGoes) {  // A15
  make_branch(/*has_work=*/true);
  run_git(repository_, {"update-ref", "refs/remotes/origin/work", branch_});
  EXPECT_EQ(remove().result, BranchRemoval::removed);
}

TEST_F(RunBranchRemovalTest, OneThatIsCheckedOutStays) {  // A15
  make_branch(/*has_work=*/false);
  run_git(repository_, {"checkout", "--quiet", branch_});
  EXPECT_NE(remove().reason.find("it is checked out at "), std::string::npos);
  EXPECT_TRUE(is_there());
}

}  // namespace
}  // namespace signalbox
