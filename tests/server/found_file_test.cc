// Tests how the lock file and the marker of a run root are read: where the service writes, and
// never behind a link that somebody has put there since the root was checked.
#include "server/followers/run_root/found_file.h"

#include <gtest/gtest.h>

#include "tests/fixtures/file_content.h"
#include "tests/fixtures/temporary_directory.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

class FoundFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const fs::path& each : {data_, allowed_, elsewhere_ / "logs"})
      fs::create_directories(each);
    write_text(elsewhere_ / ".lock", "theirs");
    write_text(elsewhere_ / "logs/tick-in-progress.json", "theirs");
    rule_ = std::make_shared<RunRootRule>(data_, std::vector<fs::path>{allowed_});
    rule_->resolve(0);
  }
  [[nodiscard]] FoundFile read(const fs::path& path) const {
    return found_file_reader(rule_)(path, 1000);
  }
  static void expect_unread(const FoundFile& found, const fs::path& link) {
    EXPECT_EQ(found.kind, FoundFile::Kind::unreadable);
    EXPECT_EQ(found.content, "");
    EXPECT_NE(found.problem.find(link.string()), std::string::npos) << found.problem;
  }

  TemporaryDirectory directory_;
  fs::path data_ = directory_.path() / "data";
  fs::path allowed_ = directory_.path() / "allowed";
  fs::path elsewhere_ = directory_.path() / "elsewhere";
  std::shared_ptr<RunRootRule> rule_;
};

TEST_F(FoundFileTest, AFileInTheRootIsRead) {  // G1
  const fs::path root = allowed_ / "team/a";
  fs::create_directories(root / "logs");
  EXPECT_EQ(read(root / ".lock").kind, FoundFile::Kind::none);
  EXPECT_EQ(read(allowed_ / "missing/.lock").kind, FoundFile::Kind::none);
  write_text(root / ".lock", "ours");
  write_text(root / "logs/tick-in-progress.json", "ours");
  EXPECT_EQ(read(root / ".lock").content, "ours");
  EXPECT_EQ(read(root / "logs/tick-in-progress.json").content, "ours");
}

TEST_F(FoundFileTest, ALinkInThePlaceOfARootOrAboveItIsntFollowed) {  // G1
  fs::create_directory_symlink(elsewhere_, allowed_ / "a");
  expect_unread(read(allowed_ / "a/.lock"), allowed_ / "a");
  expect_unread(read(allowed_ / "a/logs/tick-in-progress.json"), allowed_ / "a");
  fs::create_directory_symlink(directory_.path(), allowed_ / "team");
  expect_unread(read(allowed_ / "team/elsewhere/.lock"), allowed_ / "team");
}

// Also in a root that lies below no configured directory.
TEST_F(FoundFileTest, ALinkInARootIsntFollowed) {  // G1, T7
  const fs::path root = directory_.path() / "root";
  fs::create_directories(root);
  fs::create_directory_symlink(elsewhere_ / "logs", root / "logs");
  fs::create_symlink(elsewhere_ / ".lock", root / ".lock");
  expect_unread(read(root / "logs/tick-in-progress.json"), root / "logs");
  const FoundFile found = read_found_file(root / "logs/tick-in-progress.json", 1000);
  EXPECT_EQ(found.kind, FoundFile::Kind::unreadable);
  EXPECT_EQ(read(root / ".lock").problem, "a symbolic link");
  fs::remove(elsewhere_ / "logs/tick-in-progress.json");
  EXPECT_EQ(read(root / "logs/tick-in-progress.json").kind, FoundFile::Kind::none)
      << "nobody left one, by whatever way";
}

// Who named such a root was permitted to.
TEST_F(FoundFileTest, ALinkThatLeadsToARootOutsideOfTheConfiguredOnesIsFollowed) {  // G1
  fs::create_directory_symlink(elsewhere_, directory_.path() / "link");
  EXPECT_EQ(read(directory_.path() / "link/.lock").content, "theirs");
}

}  // namespace
}  // namespace signalbox
