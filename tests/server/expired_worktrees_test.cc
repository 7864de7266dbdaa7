// Tests what a retention sees in a run root that a client named: only what is where a write goes.
#include "server/retention/expired_worktrees.h"

#include <gtest/gtest.h>

#include "server/text/utf8_text.h"
#include "tests/fixtures/file_content.h"
#include "tests/fixtures/temporary_directory.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

class ExpiredWorktreesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const fs::path& each : {data_, allowed_, elsewhere_ / "workspace"}) {
      fs::create_directories(each);
    }
    write_text(elsewhere_ / "workspace/file.txt", "theirs");
    rule_ = std::make_shared<RunRootRule>(data_, std::vector<fs::path>{allowed_});
    rule_->resolve(0);
  }
  [[nodiscard]] ClearedWorktrees look_at(const fs::path& root) const {
    RunWorktrees request;
    request.run.run_id.bytes.back() = 7;
    request.run.root = root.string();
    request.run.is_named = true;
    request.run.repository = (directory_.path() / "repository").string();
    request.data = data_;
    request.only_look = true;
    request.rule = rule_;
    const std::atomic<bool> stopped = false;
    return clear_worktrees(request, stopped);
  }

  TemporaryDirectory directory_;
  fs::path data_ = directory_.path() / "data";
  fs::path allowed_ = directory_.path() / "allowed";
  fs::path elsewhere_ = directory_.path() / "elsewhere";
  std::shared_ptr<RunRootRule> rule_;
};

TEST_F(ExpiredWorktreesTest, WhatIsInTheRootIsNamedByItsPath) {  // A15
  fs::rename(elsewhere_, allowed_ / "a");
  const ClearedWorktrees found = look_at(allowed_ / "a");
  EXPECT_EQ(found.kept, (allowed_ / "a/workspace").string());
  EXPECT_EQ(found.reason, "its .git is gone");
}

TEST_F(ExpiredWorktreesTest, NothingBehindALinkInThePlaceOfTheRootIsLookedAt) {  // A15, G1
  fs::create_directory_symlink(elsewhere_, allowed_ / "a");
  const ClearedWorktrees found = look_at(allowed_ / "a");
  EXPECT_EQ(found.kept, (allowed_ / "a").string());
  EXPECT_NE(found.reason.find("is a symbolic link"), std::string::npos) << found.reason;
}

TEST_F(ExpiredWorktreesTest, ARootThatIsGoneHoldsNothing) {  // A15
  const ClearedWorktrees found = look_at(allowed_ / "gone");
  EXPECT_EQ(found.kept, "") << found.reason;
}

// JSON carries what is kept, and why, to clients and into the log.
TEST_F(ExpiredWorktreesTest, WhatIsKeptIsTextWhateverItIsCalled) {  // A15, G1
  const fs::path root = allowed_ / "a";
  fs::create_directories(root / "\xff" / ".git");
  ExpiredRun run;
  run.root = root.string();
  EXPECT_EQ(reason_to_keep_root(run, root), "it holds ?: it is a git repository of its own");
  RunWorktrees request;
  request.run = run;
  const ClearedWorktrees found = clear_worktrees(request, false);
  EXPECT_EQ(found.kept, root.string() + "/\xEF\xBF\xBD");
  EXPECT_EQ(found.reason, "it is a git repository of its own");
}

}  // namespace
}  // namespace signalbox
