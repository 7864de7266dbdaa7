// Tests which commit the log says that a station declared.
#include "server/followers/recorded_run.h"

#include <gtest/gtest.h>

#include "projections/memory_table.h"
#include "store/memory_event_log.h"

namespace signalbox {
namespace {

class RecordedCommit : public ::testing::Test {
 protected:
  // Appends an event of the run. Returns its position.
  Position append(const RunId& run_id, StationEvent event) {
    Record record;
    record.position = log.tail() + 1;
    record.stream = Stream::run(run_id);
    record.actor = "signalbox";
    record.event = std::move(event);
    const std::vector<Commit> commits{{std::move(record)}};
    EXPECT_EQ(log.append(log.tail(), commits).status, AppendStatus::ok);
    return log.tail();
  }
  static AttemptResult declared(const std::string& metadata) {
    AttemptResult result;
    result.metadata = metadata;
    return result;
  }
  [[nodiscard]] std::string base_before(Position before) const {
    return recorded_commit(log, index, /*applied=*/0, {mine, 1, before, "intake", "base_commit"})
        .value();
  }

  RunId mine = *parse_uuid("0190163d-8694-739b-aea5-966c26f8ad91");
  RunId other = *parse_uuid("0190163d-8694-739b-aea5-966c26f8ad92");
  MemoryEventLog log;
  MemoryTable table;
  RunIndex index{table};
};

TEST_F(RecordedCommit, TheLatestSuccessOfTheStationCounts) {  // A7
  const Position first =
      append(mine, StationSucceeded{"intake", 1, declared(R"({"base_commit":"aa"})")});
  append(other, StationSucceeded{"intake", 1, declared(R"({"base_commit":"bb"})")});
  append(mine, StationSucceeded{"implement", 1, declared(R"({"base_commit":"cc"})")});
  append(mine, StationFailed{"intake", 2, {}, declared(R"({"base_commit":"dd"})")});
  EXPECT_EQ(base_before(first), "") << "before it, nothing is known";
  EXPECT_EQ(base_before(first + 1), "aa");
  EXPECT_EQ(base_before(log.tail() + 1), "aa");
  const Position held =
      append(mine, StationResultHeld{"intake", 3, declared(R"({"base_commit":"ee"})")});
  EXPECT_EQ(base_before(held + 1), "ee");
}

TEST_F(RecordedCommit, WhatTheLogDoesNotSayIsEmpty) {  // A7
  EXPECT_EQ(base_before(1), "");
  for (const char* metadata : {"", "{}", R"({"redacted":true})", R"({"base_commit":7})", "[]"}) {
    append(mine, StationSucceeded{"intake", 1, declared(metadata)});
    EXPECT_EQ(base_before(log.tail() + 1), "") << metadata;
  }
}

}  // namespace
}  // namespace signalbox
