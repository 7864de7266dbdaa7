// A person sets the priority of a card.
#include "tests/domain/card_fixture.h"

namespace signalbox {
namespace {

const CardId later_card = uuid_of(0xcb);

class CardPriorityTest : public CardTest {
 protected:
  CardPriorityTest() {
    SubmitCard later;
    later.project = project;
    later.title = "Fix that";
    later.card_id = later_card;
    when(later);
  }
};

TEST_F(CardPriorityTest, AHigherOneComesFirst) {  // O2
  EXPECT_EQ(next_to_start(world), &the_card());
  when(SetCardPriority{later_card, 5, "the release waits for it"});
  then({CardEvent{CardPrioritySet{5, "the release waits for it"}}});
  ASSERT_NE(next_to_start(world), nullptr);
  EXPECT_EQ(next_to_start(world)->id, later_card);
  when(SetCardPriority{later_card, -5, {}});
  EXPECT_EQ(next_to_start(world), &the_card());
  when(SetCardPriority{later_card, -5, {}});
  then_nothing();
}

// A retry counts from the block, and so does the wait for a person.
TEST_F(CardPriorityTest, ABlockedCardKeepsItsTimes) {  // O2, H5
  when(start_of(card, run));
  fail();
  const std::int64_t blocked_ns = now.wall_ns;
  const Position blocked_at = the_card().changed_at;
  now.wall_ns += 29 * minute_ns;
  when(SetCardPriority{card, 5, {}});
  then_names({"CardPrioritySet"});
  EXPECT_EQ(status(), CardStatus::blocked);
  EXPECT_EQ(the_card().changed_at, blocked_at);
  now.wall_ns = blocked_ns + 30 * minute_ns;
  when(RetryBlockedCards{});
  then_names({"CardUnblocked"});
  EXPECT_EQ(the_card().priority, 5);
}

TEST_F(CardPriorityTest, ARunUnderWayGoesOn) {  // O2
  when(start_of(card, run));
  when(SetCardPriority{card, 5, {}});
  then_names({"CardPrioritySet"});
  EXPECT_EQ(status(), CardStatus::running);
  when(SetCardPriority{uuid_of(9), 5, {}});
  then_rejected(ErrorCode::CARD_NOT_FOUND);
}

}  // namespace
}  // namespace signalbox
