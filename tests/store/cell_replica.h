// A server of a cell as far as its log goes, for tests.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <vector>

#include "store/memory_shared_log.h"
#include "store/replicated_event_log.h"
#include "store/rocks_event_log.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/store/faulty_disk.h"
#include "tests/store/log_directory.h"
#include "tests/store/sample_events.h"

namespace signalbox::test {

// A server of the cell: its replica, and its log over it.
struct CellReplica {
  TemporaryDirectory directory;
  FaultyDisk disk;  // without a fault until a test sets one
  std::shared_ptr<MemoryChain> chain;
  MemorySharedLog reader{chain};
  std::unique_ptr<RocksEventLog> replica;
  std::unique_ptr<ReplicatedEventLog> log;

  explicit CellReplica(std::shared_ptr<MemoryChain> shared) : chain(std::move(shared)) { open(); }
  void open() {
    replica =
        open_log(directory.path(), {.env = disk.env(), .full_pause = std::chrono::milliseconds(1)});
    log = std::make_unique<ReplicatedEventLog>(*replica, std::make_unique<MemorySharedLog>(chain),
                                               [](const std::string&) {});
  }
  // Has the replica opened again, as by the next start.
  void restart() {
    log.reset();
    replica.reset();
    open();
  }
  void take() {
    const auto state = reader.state();
    ASSERT_TRUE(state) << state.error().message;
    const auto epoch = reader.take(state->epoch, {"server", "tcp://127.0.0.1:1"});
    ASSERT_TRUE(epoch) << epoch.error().message;
    follow();
    log->begin_epoch(*epoch, *reader.last());
  }
  void follow() const {
    MemorySharedLog own(chain);
    const auto links = own.read(log->tail(), 1000);
    ASSERT_TRUE(links) << links.error().message;
    for (const ChainLink& link : *links) {
      const auto followed = log->follow(link);
      ASSERT_TRUE(followed) << followed.error().message;
    }
  }
  void append() const {
    const std::vector<Commit> commits = {sample_commit(log->tail() + 1, 3)};
    ASSERT_EQ(log->append(log->tail(), commits).status, AppendStatus::ok);
  }
  // Stages a drop and writes its base.
  static Stored<StagedDrop> with_base(ReplicatedEventLog& into, Stored<StagedDrop> staged) {
    bool more = staged.has_value();
    while (more) {
      const auto stored = into.store_base_part(*staged);
      if (!stored) return tl::unexpected(stored.error());
      more = *stored;
    }
    return staged;
  }
};

}  // namespace signalbox::test
