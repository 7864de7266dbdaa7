// The limits of the commands about projects and cards. P8
#include <gtest/gtest.h>

#include <algorithm>

#include "domain/nanoseconds.h"
#include "tests/domain/limits_fixture.h"

namespace signalbox {
namespace {

class BoardLimits : public LimitsTest {
 protected:
  BoardLimits() {
    world.projects[project].name = project;
    put.name = "another";
    put.repository = "/repositories/another";
    submit.project = project;
    submit.title = "Fix it";
    submit.card_id = numbered(0);
  }
  static CardId numbered(std::size_t number) {
    CardId id{};
    for (std::size_t place = 1; place <= 4; ++place, number /= 256) {
      id.bytes[id.bytes.size() - place] = static_cast<std::uint8_t>(number % 256);
    }
    return id;
  }
  // Adds a card that was blocked at the beginning of time and is to be retried.
  void add_card() {
    Card added;
    added.id = numbered(world.board.cards().size() + 1);
    added.project = project;
    added.status = CardStatus::blocked;
    added.retry_at_ns = 1;
    world.board.insert(std::move(added));
  }
  PutProject put;
  SubmitCard submit;
};

TEST_F(BoardLimits, OfAProject) {
  expect_bytes_max("name", limits::name_bytes_max, with_field(put, &PutProject::name));
  expect_bytes_max("base", limits::name_bytes_max, with_field(put, &PutProject::base));
  expect_bytes_max("repository", limits::path_bytes_max, with_field(put, &PutProject::repository),
                   '/');
  expect_bytes_max("remote", limits::path_bytes_max, with_field(put, &PutProject::remote));
}

TEST_F(BoardLimits, OfACard) {
  expect_bytes_max("title", limits::card_title_bytes_max, with_field(submit, &SubmitCard::title));
  expect_bytes_max("brief", limits::card_brief_bytes_max, with_field(submit, &SubmitCard::brief));
  expect_bytes_max("key", limits::name_bytes_max, with_field(submit, &SubmitCard::key));
  expect_between("priority", -limits::card_priority_max, limits::card_priority_max,
                 with_field(submit, &SubmitCard::priority));
}

TEST_F(BoardLimits, OfTheReasonsThatPeopleGive) {
  add_card();
  const CardId id = numbered(1);
  expect_bytes_max("block", limits::reason_bytes_max,
                   with_field(BlockCard{id, ""}, &BlockCard::reason));
  expect_bytes_max("unblock", limits::reason_bytes_max,
                   with_field(UnblockCard{id, {}}, &UnblockCard::reason));
  expect_bytes_max("reason", limits::reason_bytes_max,
                   with_field(SetCardPriority{id, 1, {}}, &SetCardPriority::reason));
  expect_between("priority", -limits::card_priority_max, limits::card_priority_max,
                 [&id](std::int64_t priority) -> Command {
                   return SetCardPriority{id, static_cast<std::int32_t>(priority), {}};
                 });
}

TEST_F(BoardLimits, OfTheProjects) {
  while (world.projects.size() < limits::projects_max - 1) {
    world.projects["project " + std::to_string(world.projects.size())];
  }
  EXPECT_EQ(refusal_of(put), std::nullopt);
  world.projects["the last one"];
  EXPECT_EQ(refusal_of(put), ErrorCode::LIMIT_EXCEEDED);
  put.name = "the last one";
  EXPECT_EQ(refusal_of(put), std::nullopt) << "one that is there can be changed";
}

TEST_F(BoardLimits, OfTheCardsOnTheBoard) {
  while (world.board.cards().size() < limits::open_cards_max - 1) add_card();
  EXPECT_EQ(refusal_of(submit), std::nullopt);
  add_card();
  EXPECT_EQ(refusal_of(submit), ErrorCode::LIMIT_EXCEEDED);
}

// The next commit takes the others.
TEST_F(BoardLimits, OfTheCardsThatAreRetriedAtOnce) {  // H5
  Now later = now;
  later.wall_ns += world.projects.at(project).policy.blocked_retry_minutes * 60 * ns_per_s;
  for (std::size_t card_count = 1; card_count <= limits::retried_cards_max + 1; ++card_count) {
    add_card();
    const auto decided = decide(world, RetryBlockedCards{}, later);
    ASSERT_TRUE(decided);
    EXPECT_EQ(decided->size(), std::min(card_count, limits::retried_cards_max));
  }
}

}  // namespace
}  // namespace signalbox
