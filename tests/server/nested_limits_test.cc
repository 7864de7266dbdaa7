// Tests the limits of what is looked into for work inside a worktree: levels of submodules, of
// directories in their names, of repositories that borrow objects, and tags of submodules. P8
#include <gtest/gtest.h>

#include "server/git/nested_work.h"
#include "server/git/unlisted_repositories.h"
#include "server/git/worktree_tips.h"
#include "server/limits.h"
#include "tests/fixtures/git_repository.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/server/agent_work_fixture.h"

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

TEST_F(NestedLimits, OfTheFilesAmongWhichRepositoriesAreLookedFor) {  // A1
  fs::create_directories(scratch_.path() / "tree/deep/.git");
  write_text(scratch_.path() / "tree/file.txt", "one\n");
  constexpr std::size_t entries = 3;
  const auto found = find_unlisted(scratch_.path() / "tree", {}, entries);
  ASSERT_TRUE(found) << found.error();
  EXPECT_EQ(found->repositories, std::vector<std::string>{"deep"});
  EXPECT_FALSE(find_unlisted(scratch_.path() / "tree", {}, entries - 1));
}

// Git follows as many, and reads nothing of what lies beyond.
TEST_F(NestedLimits, OfTheRepositoriesThatBorrowFromEachOther) {  // A1
  EXPECT_EQ(borrowed_by_steps("most", limits::alternates_depth_max + 1).filename(), "objects");
  EXPECT_EQ(borrowed_by_steps("more", limits::alternates_depth_max + 2), "");
}

class SubmoduleTags : public WorkOfAnAgent {
 protected:
  // Returns what the removal says of an untouched worktree with a submodule that has this many
  // tags, each of a commit that no branch has.
  RemovalOutcome removed_with(std::size_t tags) {
    const fs::path library = make_repository(site.root() / "library", {{"lib.txt", "lib\n"}});
    const std::string import =
        "alias.import=!for each in $(seq " + std::to_string(tags) +
        "); do printf 'commit refs/tags/v%d\\ncommitter a <a@b> %d +0000\\ndata 1\\nx\\n' $each "
        "$each; done | git fast-import --quiet";
    run_git(library, {"-c", import, "import"});
    EXPECT_EQ(
        run_git(library, {"for-each-ref", "--count=1", "--format=%(objecttype)", "refs/tags"}),
        "commit");
    commit_submodule(repository, library, "lib");
    return remove_worktree(removal_of(begun()));
  }
};

TEST_F(SubmoduleTags, AsManyAsAreRecordedAreNoWork) {  // A1, A2
  const RemovalOutcome outcome = removed_with(limits::submodule_tags_max);
  EXPECT_EQ(outcome.result, Removal::removed) << outcome.reason;
}

// Nobody can tell whether the agent has made it.
TEST_F(SubmoduleTags, OneMoreKeepsTheWorktree) {  // A1, A2
  const RemovalOutcome outcome = removed_with(limits::submodule_tags_max + 1);
  EXPECT_EQ(outcome.result, Removal::left);
  EXPECT_NE(outcome.reason.find("submodule lib has commits"), std::string::npos) << outcome.reason;
}

}  // namespace
}  // namespace signalbox
