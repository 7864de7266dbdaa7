// Tests what a part of the log has changed: how a run ended up, not what it once waited for.
#include "projections/change_summary.h"

#include <gtest/gtest.h>

#include <utility>

namespace signalbox {
namespace {

class ChangeSummaryTest : public testing::Test {
 protected:
  void apply(Event event) {
    Record record;
    record.position = ++position_;
    record.stream = Stream::run({});
    record.event = std::move(event);
    summary_.apply(record);
  }
  [[nodiscard]] const StreamChange& change() const { return summary_.changes().front(); }

 private:
  ChangeSummary summary_;
  Position position_ = 0;
};

TEST_F(ChangeSummaryTest, ARunWhoseBudgetIsRaisedWaitsForNobody) {  // O3
  apply(StationEvent{StationHeld{"implement", WaitReason::budget, "used up"}});
  EXPECT_EQ(change().state, "waits for a person");
  apply(RunEvent{RunBudgetRaised{{0, 0, 20}, ""}});
  apply(StationEvent{StationReady{"implement"}});
  EXPECT_EQ(change().state, "open");
  EXPECT_EQ(change().text, "implement ready");
}

}  // namespace
}  // namespace signalbox
