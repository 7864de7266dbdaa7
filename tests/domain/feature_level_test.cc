// The feature level of a cell, and of each event that its servers write.
#include "domain/feature_level.h"

#include <gtest/gtest.h>

#include <string>

#include "domain/event.h"

namespace signalbox {
namespace {

TEST(FeatureLevel, IsThatOfTheRelease) {  // K9
  EXPECT_EQ(feature_level_of(CellTaken::tag), feature_level_min);
  EXPECT_EQ(feature_level_of(RunStarted::tag), feature_level_min);
  EXPECT_EQ(feature_level_of(RunnerDrained::tag), 2);
  EXPECT_EQ(feature_level_of(RunnerUndrained::tag), 2);
  EXPECT_EQ(feature_level_of(RunnerEvicted::tag), 2);
  EXPECT_EQ(feature_level_of(RunnerReadmitted::tag), 2);
  EXPECT_EQ(feature_level_of(LateUsageReported::tag), 3);
}

TEST(FeatureLevel, IsThatOfTheVersion) {
  EXPECT_EQ(feature_level_of({201, 1, "RunStarted"}), feature_level_min);
  EXPECT_EQ(feature_level_of({201, 3, "RunStarted"}), feature_level_min);
  EXPECT_EQ(feature_level_of({106, 1, "HistoryDropped"}), feature_level_min);
  EXPECT_EQ(feature_level_of({106, 2, "HistoryDropped"}), 2);
  EXPECT_EQ(feature_level_of({201, 4, "RunStarted"}), 0) << "a version that nobody gave a level";
  EXPECT_EQ(feature_level_of({202, 2, "RunSucceeded"}), 0);
  EXPECT_EQ(feature_level_of({111, 1, "AnotherOfTheServer"}), 0);
  EXPECT_EQ(feature_level_of({1001, 2, "RunnerDrained"}), 0);
  EXPECT_EQ(feature_level_of({0, 1, ""}), 0);
}

TEST(FeatureLevel, OfACellThatIsTooLowIsRefusedWithWhatToDo) {
  const Rejection refusal = feature_level_refusal(RunnerEvicted::tag, feature_level_min);
  EXPECT_EQ(refusal.code, ErrorCode::CELL_UPGRADE_NEEDED);
  EXPECT_NE(refusal.message.find("run `signalbox cell upgrade`"), std::string::npos)
      << refusal.message;
  EXPECT_EQ(refusal.details.at(0), (Detail{"event", std::string("RunnerEvicted")}));
  EXPECT_EQ(refusal.details.at(1), (Detail{"feature_level", std::int64_t{1}}));
  EXPECT_EQ(refusal.details.at(2), (Detail{"needed", std::int64_t{2}}));
  EXPECT_EQ(refusal.next_commands.back(), "signalbox cell upgrade");
}

TEST(FeatureLevel, OfARedactionIsThatOfItsCell) {  // K7
  EXPECT_EQ(feature_level_of(PayloadRedacted::tag), feature_level_min) << "one server alone had it";
  const Rejection refusal = redaction_level_refusal(2);
  EXPECT_EQ(refusal.code, ErrorCode::CELL_UPGRADE_NEEDED);
  EXPECT_EQ(refusal.details.at(2), (Detail{"needed", std::int64_t{feature_level_of_redactions}}));
  EXPECT_EQ(refusal.next_commands.back(), "signalbox cell upgrade");
}

}  // namespace
}  // namespace signalbox
