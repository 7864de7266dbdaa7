// Tests how long a report says the service was down: nothing that others write shows that it lived.
#include "projections/report.h"

#include <gtest/gtest.h>

#include "domain/nanoseconds.h"

namespace signalbox {
namespace {

class ReportedDownTime : public testing::Test {
 protected:
  void apply(std::int64_t at_ms, Event event, const std::string& actor = "signalbox",
             const std::string& command_id = {}) {
    Record record;
    record.position = ++position_;
    record.recorded_at_ns = at_ms * ns_per_ms;
    record.actor = actor;
    record.command_id = command_id;
    record.event = std::move(event);
    meter_.apply(record);
  }
  void start(std::int64_t at_ms, PreviousEnd previous) {
    apply(at_ms, ServerEvent(ServerStarted{++incarnation_, "v", previous}));
  }
  [[nodiscard]] std::int64_t down_ms() {
    const Report report = std::move(meter_).finish({}, 1);
    EXPECT_EQ(report.crashes.size(), 1U);
    return report.crashes.empty() ? -1 : report.crashes.front().down_ms_max;
  }

 private:
  ReportMeter meter_{0, std::nullopt};
  Position position_ = 0;
  std::uint64_t incarnation_ = 0;
};

TEST_F(ReportedDownTime, BeginsBeforeWhatAnAuditErasedAndDropped) {  // O3
  start(1'000, PreviousEnd::none);
  apply(13'000, AccessEvent(PayloadRedacted{}), "uid:1000");
  apply(14'000, ServerEvent(HistoryDropped{}), "uid:1000");
  start(15'000, PreviousEnd::crashed);
  EXPECT_EQ(down_ms(), 14'000);
}

TEST_F(ReportedDownTime, BeginsAfterTheRetentionOfALivingService) {  // O3
  start(1'000, PreviousEnd::none);
  apply(13'000, ServerEvent(HistoryDropped{}));
  start(15'000, PreviousEnd::crashed);
  EXPECT_EQ(down_ms(), 2'000);
}

TEST_F(ReportedDownTime, BeginsAfterARedactionByALivingService) {  // O3
  start(1'000, PreviousEnd::none);
  apply(13'000, AccessEvent(PayloadRedacted{}), "uid:1000", "of-the-client");
  start(15'000, PreviousEnd::crashed);
  EXPECT_EQ(down_ms(), 2'000);
}

// The log may have nothing else any more.
TEST_F(ReportedDownTime, IsThatOfThePeriodIfNothingIsKnownBefore) {  // O3
  apply(13'000, ServerEvent(HistoryDropped{}), "uid:1000");
  start(15'000, PreviousEnd::crashed);
  EXPECT_EQ(down_ms(), 15'000);
}

}  // namespace
}  // namespace signalbox
