// Tests the limits of what is looked into for work inside a worktree: levels of submodules, of
// directories in their names, and of repositories that borrow objects. P8
#include <gtest/gtest.h>

#include "server/git/nested_work.h"
#include "server/git/worktree_tips.h"
#include "server/limits.h"
#include "tests/fixtures/git_repository.h"
#include "tests/fixtures/temporary_directory.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

class NestedLimits : public ::testing::Test {
 protected:
  // Makes a repository with this many levels of submodules below it; all commits are published.
  static void make_levels(const fs::path& top, std::size_t levels) {
    std::vector<fs::path> repositories{top};
    for (std::size_t level = 0; level < levels; ++level) {
      repositories.push_back(repositories.back() / "sub");
    }
    fs::create_directories(repositories.back());
    for (auto each = repositories.rbegin(); each != repositories.rend(); ++each) {
      run_git(*each, {"init", "--quiet"});
      commit_everything(*each, "first");
      run_git(*each, {"update-ref", "refs/remotes/origin/main", "HEAD"});
    }
  }
  tl::expected<OwnWork, std::string> work_of(const fs::path& top) const {
    return own_work_of(top, scratch_.path() / "pins", Leftovers::count);
  }
  // Makes the git directory of a submodule whose name has this many parts.
  tl::expected<std::string, std::string> work_of_name(const std::string& modules,
                                                      std::size_t parts) const {
    const fs::path root = scratch_.path() / modules;
    fs::path directory = root;
    for (std::size_t part = 0; part < parts; ++part) directory /= "n";
    fs::create_directories(directory);
    run_git(directory, {"init", "--quiet", "--bare"});
    return NestedWork(scratch_.path() / "pins", Leftovers::count).of_modules(root);
  }
  // Makes a repository whose objects lead by this many steps to those in `worktree`.
  fs::path borrowed_by_steps(const std::string& name, std::size_t steps) const {
    const fs::path common = scratch_.path() / name;
    const fs::path worktree = scratch_.path() / "worktree";
    fs::path from = common / "objects";
    for (std::size_t step = 1; step <= steps; ++step) {
      const fs::path to =
          step == steps ? worktree / "objects" : common / ("borrowed-" + std::to_string(step));
      fs::create_directories(from / "info");
      write_text(from / "info/alternates", to.string() + "\n");
      from = to;
    }
    GitPlace place;
    place.git_directory = common / "worktrees/one";
    place.common_directory = common;
    return borrowed_from_worktree(worktree, place).value();
  }

  const TemporaryDirectory scratch_;
};

TEST_F(NestedLimits, OfTheLevelsOfSubmodules) {  // A1
  make_levels(scratch_.path() / "most", limits::submodule_depth_max);
  const auto most = work_of(scratch_.path() / "most");
  ASSERT_TRUE(most) << most.error();
  EXPECT_EQ(most->what, "");
  make_levels(scratch_.path() / "more", limits::submodule_depth_max + 1);
  const auto more = work_of(scratch_.path() / "more");
  ASSERT_FALSE(more);
  EXPECT_NE(more.error().find("nested deeper than 8 levels"), std::string::npos) << more.error();
}

TEST_F(NestedLimits, OfTheDirectoriesInASubmodulesName) {  // A1
  const auto most = work_of_name("most", limits::submodule_directories_depth_max);
  ASSERT_TRUE(most) << most.error();
  EXPECT_EQ(*most, "");
  EXPECT_FALSE(work_of_name("more", limits::submodule_directories_depth_max + 1));
}

// Git follows as many, and reads nothing of what lies beyond.
TEST_F(NestedLimits, OfTheRepositoriesThatBorrowFromEachOther) {  // A1
  EXPECT_EQ(borrowed_by_steps("most", limits::alternates_depth_max + 1).filename(), "objects");
  EXPECT_EQ(borrowed_by_steps("more", limits::alternates_depth_max + 2), "");
}

}  // namespace
}  // namespace signalbox
