// Recorded work as it is read from the records of a log, for tests of forecasts.
#pragma once

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "domain/evolve.h"
#include "server/replay/what_if/recorded_work.h"

namespace signalbox {

inline RecordedWork recorded_from(const std::vector<Record>& records) {
  World world;
  WorkRecorder recorder(world);
  for (const Record& record : records) {
    evolve(world, record);
    EXPECT_TRUE(recorder.apply(world, record));
  }
  return std::move(recorder).finish();
}

}  // namespace signalbox
