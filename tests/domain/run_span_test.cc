// The span of a run: one id that leads from the start of a card's run to its end.
#include "domain/run_span.h"

#include <gtest/gtest.h>

#include "tests/domain/card_fixture.h"

namespace signalbox {
namespace {

Record record_of(const NewEvent& event) {
  Record record;
  record.stream = event.stream;
  record.span_id = event.span_id;
  record.event = event.event;
  return record;
}

class RunSpan : public CardTest {
 protected:
  // Returns the spans of the latest command's events.
  [[nodiscard]] std::vector<Uuid> spans() const {
    std::vector<Uuid> ids;
    for (const NewEvent& event : events) ids.push_back(event.span_id);
    return ids;
  }
};

TEST_F(RunSpan, IsThatOfTheCardsAndTheRunsEventsFromTheirStartToTheirEnd) {  // A11
  using Spans = std::vector<Uuid>;
  when(start_of(card, run));
  then_names({"CardStarted", "RunStarted"});
  EXPECT_EQ(spans(), (Spans{run, run}));
  work("implement", Outcome::succeeded);
  ClaimStation claim = claim_by("ann", {"verify"});
  claim.span_id = uuid_of(0x77);
  when(claim);
  then_names({"StationClaimed", "CardVerificationStarted"});
  EXPECT_EQ(spans(), (Spans{uuid_of(0x77), run})) << "an attempt has a span of its own";
  EXPECT_EQ(parent_span(record_of(events[0])), run);
  EXPECT_EQ(parent_span(record_of(events[1])), std::nullopt);
  CompleteStation done = end_of("verify", the_run().attempt->token, Outcome::failed);
  done.error_class = ErrorClass::terminal;
  done.error_code = "RED";
  when(done);
  then_names({"StationFailed", "RunFailed", "CardBlocked"});
  EXPECT_EQ(spans(), (Spans{uuid_of(0x77), run, run}));
  for (const NewEvent& event : events) {
    EXPECT_TRUE(belongs_to_span(record_of(event), run));
    EXPECT_FALSE(belongs_to_span(record_of(event), uuid_of(0x78)));
  }
  EXPECT_TRUE(belongs_to_span(record_of(events[0]), uuid_of(0x77)));
  EXPECT_FALSE(belongs_to_span(record_of(events[1]), uuid_of(0x77)));
}

TEST_F(RunSpan, FindsWhatOlderVersionsWroteWithoutIt) {  // A11
  when(start_of(card, run));
  for (NewEvent event : events) {
    event.span_id = {};
    EXPECT_TRUE(belongs_to_span(record_of(event), run));
    EXPECT_FALSE(belongs_to_span(record_of(event), Uuid{}));
    EXPECT_EQ(parent_span(record_of(event)), std::nullopt);
  }
}

TEST_F(VerifiedCardTest, ItsMergeIsToldUnderTheSpanOfTheRunWhoseWorkItMerges) {  // A11
  const RunId work = the_card().run_id;
  when(merge_of(card, run));
  then_names({"CardMergeStarted", "RunStarted"});
  EXPECT_EQ(events[0].span_id, work);
  EXPECT_EQ(events[1].span_id, run) << "the merge is a run with a span of its own";
  EXPECT_TRUE(belongs_to_span(record_of(events[0]), run));
  finish_merge(Outcome::succeeded);
  ASSERT_EQ(tag_of(events.back().event).name, CardMerged::tag.name);
  EXPECT_EQ(events.back().span_id, work);
}

}  // namespace
}  // namespace signalbox
