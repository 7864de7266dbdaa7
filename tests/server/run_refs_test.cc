// Which refs count as those of runs, and how they are listed and removed, here and at a remote.
#include "server/git/run_refs.h"

#include <gtest/gtest.h>

#include <fstream>

#include "domain/nanoseconds.h"
#include "server/platform/clock.h"
#include "tests/fixtures/git_repository.h"
#include "tests/fixtures/temporary_directory.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

class RunRefsTest : public testing::Test {
 protected:
  void SetUp() override {
    make_repository(repository_, {{"file.txt", "one\n"}});
    make_remote(repository_, remote_);
    run_id_ = RandomIdSource().next_run_id(1'700'000'000 * ns_per_s);
    id_ = to_string(run_id_);
  }
  // Makes the ref, which names a commit of its own, and returns that.
  [[nodiscard]] std::string make_ref(const std::string& name) const {
    const std::string commit =
        run_git(repository_, {"commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", name});
    run_git(repository_, {"update-ref", name, commit});
    return commit;
  }
  [[nodiscard]] std::vector<RunRef> listed() const {
    const auto refs = list_run_refs(repository_, scratch_.path());
    EXPECT_TRUE(refs) << refs.error();
    return refs.value_or(std::vector<RunRef>());
  }
  [[nodiscard]] PinnedRepository pinned() const {
    auto opened =
        PinnedRepository::pin(scratch_.path() / "pins", repository_, ConfigTrust::nobodys);
    EXPECT_TRUE(opened) << opened.error();
    return *std::move(opened);
  }

  TemporaryDirectory scratch_;
  const fs::path repository_ = scratch_.path() / "repository";
  const fs::path remote_ = scratch_.path() / "remote.git";
  RunId run_id_{};
  std::string id_;
};

TEST_F(RunRefsTest, OnlyNamesThatTheServiceMakesAreThoseOfRuns) {  // A15
  for (const std::string& name : std::vector<std::string>{
           "refs/heads/signalbox/" + id_ + "-12", "refs/signalbox/rescue/" + id_,
           "refs/signalbox/rescue/" + id_ + "-branch",
           "refs/signalbox/rescue/" + id_ + "-branch-12"}) {
    EXPECT_EQ(run_of_ref(name), run_id_) << name;
  }
  for (const std::string& name :
       std::vector<std::string>{"refs/heads/signalbox/" + id_, "refs/heads/signalbox/" + id_ + "-",
                                "refs/heads/signalbox/" + id_ + "-12x", "refs/heads/signalbox/mine",
                                "refs/heads/" + id_ + "-12", "refs/signalbox/rescue/" + id_ + "-12",
                                "refs/signalbox/rescue/" + id_ + "-branch-",
                                "refs/signalbox/rescue/" + id_ + "-branch-01",
                                "refs/signalbox/rescue/" + id_ + "-branches",
                                "refs/signalbox/base/" + id_, "refs/heads/main", ""}) {
    EXPECT_FALSE(run_of_ref(name)) << name;
  }
  EXPECT_EQ(start_of_run_ns(run_id_), 1'700'000'000 * ns_per_s);
  EXPECT_FALSE(start_of_run_ns(RandomIdSource().next_span_id()));
}

TEST_F(RunRefsTest, TheyAreListedAndRemovedUnlessTheyAreCheckedOut) {  // A15
  const std::string branch = "refs/heads/signalbox/" + id_ + "-12";
  const std::string rescue = "refs/signalbox/rescue/" + id_;
  const std::string commit = make_ref(branch);
  (void)make_ref(rescue);
  (void)make_ref("refs/heads/signalbox/mine");
  const std::vector<RunRef> refs = listed();
  ASSERT_EQ(refs.size(), 2U);
  EXPECT_EQ(refs.front().name, branch);
  EXPECT_EQ(refs.front().object, commit);
  EXPECT_EQ(refs.front().run_id, run_id_);
  EXPECT_GT(refs.front().at_ns, 1'700'000'000 * ns_per_s);

  EXPECT_TRUE(remove_run_refs(repository_, refs, /*is_dry=*/true).empty());
  EXPECT_EQ(listed().size(), 2U);
  run_git(repository_, {"worktree", "add", "--quiet", (scratch_.path() / "work").string(),
                        "signalbox/" + id_ + "-12"});
  const std::vector<KeptRef> kept = remove_run_refs(repository_, refs, /*is_dry=*/false);
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept.front().ref.name, branch);
  EXPECT_NE(kept.front().reason.find("it is checked out at "), std::string::npos);
  EXPECT_EQ(listed().size(), 1U);
}

TEST_F(RunRefsTest, ARefThatWasMovedMeanwhileStays) {  // A15
  const std::string rescue = "refs/signalbox/rescue/" + id_;
  (void)make_ref(rescue);
  const std::vector<RunRef> refs = listed();
  run_git(repository_, {"update-ref", rescue, "HEAD"});
  EXPECT_EQ(remove_run_refs(repository_, refs, /*is_dry=*/false).size(), 1U);
  EXPECT_EQ(listed().size(), 1U);
}

TEST_F(RunRefsTest, BranchesAtTheRemoteGoUnlessTheyWereMoved) {  // A15
  const std::string branch = "refs/heads/signalbox/" + id_ + "-12";
  const std::string commit = make_ref(branch);
  run_git(repository_, {"push", "--quiet", "origin", branch, "main:refs/heads/signalbox/mine"});
  const PinnedRepository from = pinned();
  const auto refs = list_remote_branches(from, "origin", scratch_.path());
  ASSERT_TRUE(refs) << refs.error();
  ASSERT_EQ(refs->size(), 1U);
  EXPECT_EQ(refs->front().name, branch);
  EXPECT_EQ(refs->front().object, commit);
  EXPECT_TRUE(commit_time_ns(from, commit));
  EXPECT_FALSE(commit_time_ns(from, std::string(40, '1')));

  run_git(remote_, {"update-ref", branch, "refs/heads/main"});
  EXPECT_FALSE(remove_remote_branches(from, "origin", *refs));
  run_git(remote_, {"update-ref", branch, commit});
  const auto removed = remove_remote_branches(from, "origin", *refs);
  EXPECT_TRUE(removed) << removed.error();
  EXPECT_EQ(git(remote_, {"for-each-ref", "--format=%(refname)"}).output,
            "refs/heads/main\nrefs/heads/signalbox/mine\n");
  EXPECT_FALSE(list_remote_branches(from, "nowhere", scratch_.path()));
}

// What git lists of so many is longer than git() keeps.
TEST_F(RunRefsTest, AllBranchesAtTheRemoteAreListedHoweverManyThereAre) {  // A15
  const std::string commit = git(remote_, {"rev-parse", "refs/heads/main"}).line();
  const std::string name = "refs/heads/signalbox/" + id_ + "-";
  constexpr int branches = 12'000;
  std::ofstream packed(remote_ / "packed-refs");
  packed << "# pack-refs with: peeled fully-peeled \n";
  packed << commit << " refs/heads/main\n";
  for (int token = 1; token <= branches; ++token) packed << commit << ' ' << name << token << '\n';
  packed.close();
  const auto refs = list_remote_branches(pinned(), "origin", scratch_.path());
  ASSERT_TRUE(refs) << refs.error();
  EXPECT_EQ(refs->size(), static_cast<std::size_t>(branches));
  EXPECT_GT(refs->size() * (commit.size() + name.size()), git_output_bytes_max);
}

}  // namespace
}  // namespace signalbox
