// What couldn't be written in run roots before a stop: the next start knows it and tries it again.
#include <gtest/gtest.h>

#include <fstream>

#include "store/memory_event_log.h"
#include "tests/eventually.h"
#include "tests/server/rpc_site.h"
#include "tests/server/run_root_site.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

TEST(RunRootRestart, WhatCouldNotBeWrittenIsTriedAgain) {  // T6, T7
  const TemporaryDirectory directory;
  const fs::path data = directory.path() / "data";
  const std::string root = (directory.path() / "root").string();
  MemoryEventLog log;
  {
    RunRootSite site(log, data);
    site.start();
    std::ofstream(root) << "not a directory";
    EXPECT_NE(site.apply({begin_tick("loop", root)}), "");
    EndTick end;
    end.loop = "loop";
    end.token = site.world.find_tick("loop")->token;
    EXPECT_NE(site.apply({end}), "");
  }
  {
    RunRootSite next(log, data);
    next.start();
    EXPECT_GT(next.writer->failure_count(), 0U) << "it is known";
    next.written();
  }
  fs::remove(root);
  RunRootSite last(log, data);
  last.start();
  EXPECT_TRUE(eventually([&] { return last.writer->failure_count() == 0; }));
  EXPECT_EQ(files_on_disk(root), files_from_log(log, data, root));
  EXPECT_FALSE(files_on_disk(root).empty());
}

// A text that is redacted must not stay in what is kept for the next start.
TEST(RunRootRestart, FailedChangesCanLoseTheirTexts) {
  const TemporaryDirectory directory;
  RunRootApplier applier(
      [](bool, const std::string&) {}, directory.path(), [](const FileChange&) { return true; },
      [](const std::string& root, const std::function<Stored<void>()>&) -> Stored<void> {
        return store_failure(StoreError::Kind::io, root + " hangs");
      },
      nullptr);
  RunRootBacklog backlog;
  backlog.add({"/root", "row", FileChange::Kind::append, "a secret\n", 1});
  backlog.add({"/root", "file", FileChange::Kind::write, "a secret", 2});
  backlog.add({"/root", "gone", FileChange::Kind::remove, "", 3});
  applier.apply(backlog);
  EXPECT_EQ(applier.failed_changes().size(), 3U);
  applier.forget_texts();
  const auto left = applier.failed_changes();
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].change.path, "gone");
}

}  // namespace
}  // namespace signalbox
