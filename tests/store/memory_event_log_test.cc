// The injected failures of the log in memory.
#include "store/memory_event_log.h"

#include <gtest/gtest.h>

#include "tests/store/log_directory.h"
#include "tests/store/sample_events.h"

namespace signalbox::test {
namespace {

MemoryEventLog::Options second_append_fails(AppendFault fault) {
  MemoryEventLog::Options options;
  options.fault = [fault](std::uint64_t append) {
    return append == 2 ? std::optional(fault) : std::nullopt;
  };
  return options;
}

AppendStatus append(EventLog& log) {
  const Commit commit = sample_commit(log.tail() + 1, 3);
  return log.append(log.tail(), {&commit, 1}).status;
}

TEST(MemoryEventLog, IsFullOnlyForAWhile) {
  MemoryEventLog log(second_append_fails({AppendStatus::full, false}));
  EXPECT_EQ(append(log), AppendStatus::ok);
  EXPECT_EQ(append(log), AppendStatus::full);
  EXPECT_EQ(log.tail(), 3U);
  EXPECT_EQ(append(log), AppendStatus::ok);
  EXPECT_EQ(*all_records(log), sample_commit(1, 6));
}

TEST(MemoryEventLog, FindsOutAboutAnUnknownOutcomeOnlyByARestart) {
  for (const bool written : {false, true}) {
    MemoryEventLog log(second_append_fails({AppendStatus::unknown, written}));
    EXPECT_EQ(append(log), AppendStatus::ok);
    EXPECT_EQ(append(log), AppendStatus::unknown);
    EXPECT_EQ(append(log), AppendStatus::unknown);
    EXPECT_EQ(log.tail(), 3U);
    log.restart();
    EXPECT_EQ(log.tail(), written ? 6U : 3U);
    EXPECT_EQ(append(log), AppendStatus::ok);
    EXPECT_EQ(*all_records(log), sample_commit(1, log.tail()));
  }
}

TEST(MemoryEventLog, GrowsTheSameTreeFromTheSameHistory) {
  MemoryEventLog one;
  MemoryEventLog other;
  append_commits(one, 4);
  append_commits(other, 4);
  EXPECT_EQ(one.frontier(), other.frontier());
}

}  // namespace
}  // namespace signalbox::test
