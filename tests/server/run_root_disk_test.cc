// Tests two servers with one run root: each file is a complete one of either server.
#include "server/followers/run_root/run_root_disk.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "tests/server/executor_fixture.h"

namespace signalbox {
namespace {

TEST(RunRootDisk, ServersHaveTagsOfTheirOwnAndKeepThem) {
  EXPECT_EQ(temporary_tag("/a/runs"), temporary_tag("/a/runs"));
  EXPECT_NE(temporary_tag("/a/runs"), temporary_tag("/b/runs"));
}

TEST(RunRootDisk, TwoServersInOneRootNeverLeaveHalfAFile) {  // T7
  const TemporaryDirectory directory;
  const auto file = directory.path() / "logs" / "tick-in-progress.json";
  std::atomic<int> writing = 2;
  const auto server = [&](char letter) {
    FileChange change{
        directory.path().string(), run_root_path::tick_marker, FileChange::Kind::write, {}, 1};
    const std::string tag = temporary_tag(std::string("/") + letter + "/runs");
    for (std::size_t number = 1; number <= 300; ++number) {
      change.bytes.assign(20'000 + number, letter);
      change.bytes += '\n';
      const auto applied = apply_change(change, tag);
      EXPECT_TRUE(applied) << applied.error().message;
    }
    --writing;
  };
  std::thread one(server, 'a');
  std::thread other(server, 'b');
  while (writing > 0) {
    const std::string text = content_of(file);
    if (text.empty()) continue;  // not there yet
    EXPECT_EQ(text.find_first_not_of(text.front()), text.size() - 1) << "of both";
    EXPECT_EQ(text.back(), '\n') << "half a file";
    EXPECT_GT(text.size(), 20'000U);
  }
  one.join();
  other.join();
}

}  // namespace
}  // namespace signalbox
