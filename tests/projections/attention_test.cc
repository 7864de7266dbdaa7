// What waits for a person: failed runs do although the world forgets them.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "projections/attention.h"
#include "projections/memory_table.h"
#include "tests/domain/random_history.h"

namespace signalbox {
namespace {

// The read models know them all, be they in the world or not.
RC_GTEST_PROP(AttentionTest, FailedRunsAreThoseThatFailedLast, ()) {  // O1
  RandomHistory history;
  for (const Step& step : *random_steps()) history.take(step);
  MemoryTable table;
  RunIndex index(table);
  RC_ASSERT(index.apply(history.records).has_value());
  std::map<RunId, Position> failed;
  for (const Record& record : history.records) {
    if (event_as<RunFailed>(record.event) != nullptr) {
      failed[record.stream.run_id] = record.position;
    } else if (event_as<RunRetried>(record.event) != nullptr) {
      failed.erase(record.stream.run_id);
    }
  }
  std::map<RunId, Position> found;
  AttentionBounds bounds;
  bounds.failed_runs_max = 1000;
  const auto items = failed_runs(index, bounds);
  RC_ASSERT(items.has_value());
  for (const AttentionItem& item : *items) found[item.run_id] = item.since_position;
  RC_ASSERT(found == failed);
}

}  // namespace
}  // namespace signalbox
