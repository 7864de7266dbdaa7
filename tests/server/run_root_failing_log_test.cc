// Tests that a log that can't be read loses no file of a run root.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <limits>

#include "store/memory_event_log.h"
#include "tests/eventually.h"
#include "tests/fixtures/wrapped_log.h"
#include "tests/server/run_root_site.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// A log whose records from `fails_from` on can't be read.
class FailingLog final : public test::WrappedLog {
 public:
  using WrappedLog::WrappedLog;
  Stored<Position> scan(Position from, Position to, const Visit& visit) const override {
    const Position last = std::min(to, fails_from.load() - 1);
    auto scanned = WrappedLog::scan(from, last, visit);
    if (!scanned || last == to) return scanned;
    return store_failure(StoreError::Kind::io, "can't read the log: Input/output error");
  }

  std::atomic<Position> fails_from = std::numeric_limits<Position>::max();
};

// G1
TEST(RunRootWriterOverAFailingLog, WhatCantBeReadIsTriedAgainAndNotTakenAsWritten) {
  const TemporaryDirectory directory;
  const fs::path data = directory.path() / "data";
  const std::string root = (directory.path() / "root").string();
  MemoryEventLog log;
  FailingLog failing(log);
  {
    RunRootSite before(log, data);
    before.start();
    EXPECT_EQ(before.apply({begin_tick("loop", root)}), "");
  }
  RunRootSite site(log, data, &failing);
  site.append({acquire_lock("deploy", "me", root)});
  site.append({acquire_lock("other", "me", (directory.path() / "elsewhere").string())});
  failing.fails_from = site.world.position;
  site.start();
  const std::string error = site.written();
  EXPECT_NE(error.find("Input/output error"), std::string::npos) << error;
  EXPECT_EQ(site.writer->failures(16).size(), 1U);
  EXPECT_EQ(site.writer->failure_count(), 1U);
  EXPECT_TRUE(fs::exists(root + "/.lock")) << "the part that was read is written";
  EXPECT_NE(site.apply({acquire_lock("third", "me", (directory.path() / "third").string())}), "");
  site.stop();
  EXPECT_EQ(site.notes.size(), 1U);

  // The next start doesn't take for written what this one couldn't read.
  RunRootSite next(log, data, &failing);
  failing.fails_from = site.world.position + 1;
  next.start();
  EXPECT_EQ(next.written(), "");
  EXPECT_TRUE(fs::exists(directory.path() / "elsewhere/.lock"));
  EXPECT_TRUE(fs::exists(directory.path() / "third/.lock"));

  // And a service that goes on catches up by itself.
  failing.fails_from = next.world.position + 1;
  std::vector<Commit> batch;
  const Token token = next.world.find_lock("deploy")->token;
  for (std::size_t count = 0; count < RunRootWriter::queued_records_max + 2; ++count) {
    batch.push_back(next.append({RefreshLock{"deploy", token, 60'000, {}}}));
  }
  batch.push_back(next.append({ReleaseLock{"deploy", token, {}}}));
  next.writer->apply(next.world, batch);
  EXPECT_NE(next.written(), "");
  EXPECT_TRUE(fs::exists(root + "/.lock"));
  EXPECT_NE(next.apply({ReleaseLock{"other", next.world.find_lock("other")->token, {}}}), "");
  failing.fails_from = std::numeric_limits<Position>::max();
  EXPECT_TRUE(eventually([&] { return next.writer->failure_count() == 0; }));
  EXPECT_EQ(next.written(), "");
  EXPECT_FALSE(fs::exists(root + "/.lock"));
  EXPECT_FALSE(fs::exists(directory.path() / "elsewhere/.lock"));
}

}  // namespace
}  // namespace signalbox
