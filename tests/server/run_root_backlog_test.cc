// Tests the changes of files in run roots that wait for the writer.
#include "server/followers/run_root/file_change.h"

#include <gtest/gtest.h>

namespace signalbox {
namespace {

TEST(RunRootBacklog, KeepsTheNewestStateOfAFileAndAllRowsOfALedger) {
  RunRootBacklog backlog;
  backlog.add({"/r", ".lock", FileChange::Kind::write, "old", 1});
  backlog.add({"/r", "logs/ticks.jsonl", FileChange::Kind::append, "a\n", 2});
  backlog.add({"/r", ".lock", FileChange::Kind::remove, "", 3});
  backlog.add({"/r", "logs/ticks.jsonl", FileChange::Kind::append, "b\n", 4});
  ASSERT_EQ(backlog.size(), 2U);
  EXPECT_EQ(backlog.bytes(), 4U);
  const auto lock = backlog.take_first();
  EXPECT_EQ(lock.change.kind, FileChange::Kind::remove);
  EXPECT_EQ(lock.first, 1U);
  EXPECT_EQ(backlog.take_first().change.bytes, "a\nb\n");
}

}  // namespace
}  // namespace signalbox
