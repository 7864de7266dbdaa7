// Tests what a card's next run is told about a run or a merge that failed before it.
#include "server/board/card_run_input.h"

#include <gtest/gtest.h>

#include "domain/admission.h"
#include "domain/world.h"
#include "server/git/run_branch.h"
#include "server/text/json_text.h"

namespace signalbox {
namespace {

Card conflicting_card() {
  Card card;
  card.run_id.bytes.front() = 7;
  card.token = 12;
  card.code = "MERGE_CONFLICT";
  card.message = "both change the same places of: a.txt";
  return card;
}

TEST(CardRunInput, HasTheConflictOfTheMergeBefore) {  // A9
  const Card card = conflicting_card();
  const auto input = input_of_card_run(World{}, card);
  ASSERT_TRUE(input);
  const auto parsed = parse_json(*input);
  ASSERT_TRUE(parsed);
  const boost::json::object& conflict = parsed->at("merge_conflict").as_object();
  EXPECT_EQ(conflict.at("branch"), boost::json::value(branch_of(card.run_id, card.token)));
  EXPECT_EQ(conflict.at("message"), "both change the same places of: a.txt");
}

TEST(CardRunInput, HasTheRefOfTheWorkThatAPersonLookedAt) {  // A1
  Card card;
  card.run_id.bytes.front() = 7;
  card.code = "NESTED_REPOSITORY";
  card.message = "in the workspace are git repositories of their own";
  const auto input = input_of_card_run(World{}, card);
  ASSERT_TRUE(input);
  const auto parsed = parse_json(*input);
  ASSERT_TRUE(parsed);
  const boost::json::object& earlier = parsed->at("earlier_work").as_object();
  EXPECT_EQ(earlier.at("ref"),
            boost::json::value("refs/signalbox/rescue/" + to_string(card.run_id)));
  EXPECT_EQ(earlier.at("message"), boost::json::value(card.message));
}

TEST(CardRunInput, HasWhyTheWorkBeforeWasRefusedOrNotPushed) {  // A9
  for (const std::string code :
       {"REJECTED", "CHECKS_CHANGED", "PUSH_FAILED", "NOT_PROPOSED", "STORAGE_FAILED", "TIMEOUT",
        "KILLED_BY_SIGNAL", "REPOSITORY_BUSY", "JOB_LOST", "REPOSITORY_INVALID", "COMMIT_FAILED"}) {
    SCOPED_TRACE(code);
    Card card;
    card.run_id.bytes.front() = 7;
    card.code = code;
    EXPECT_TRUE(input_of_card_run(World{}, card));
    card.message = "the parser must not guess: see the second comment";
    const auto input = input_of_card_run(World{}, card);
    ASSERT_TRUE(input);
    const auto parsed = parse_json(*input);
    ASSERT_TRUE(parsed);
    const boost::json::object& earlier = parsed->at("earlier_work").as_object();
    EXPECT_EQ(earlier.at("reason"), boost::json::value(code));
    EXPECT_EQ(earlier.at("message"), boost::json::value(card.message));
    EXPECT_EQ(earlier.at("branches"),
              boost::json::value("signalbox/" + to_string(card.run_id) + "-*"));
  }
  Card refused_at_its_start;
  refused_at_its_start.code = "REJECTED";
  EXPECT_FALSE(input_of_card_run(World{}, refused_at_its_start)) << "there was no run";
}

// The remote may refuse the work itself: then the person's reason says what to change.
TEST(CardRunInput, HasWhyTheWorkWasNotPushedBeforeAPersonBlockedTheCard) {  // A9
  Card card;
  card.run_id.bytes.front() = 7;
  card.code = "PUSH_FAILED";
  card.message = "a key is in config.py";
  card.status = CardStatus::blocked;
  const CardBlocked blocked = block_by_person(card, "take it out");
  card.code = blocked.code;
  card.message = blocked.message;
  EXPECT_EQ(card.code, blocked_by_person_code);
  const auto input = input_of_card_run(World{}, card);
  ASSERT_TRUE(input);
  const auto parsed = parse_json(*input);
  ASSERT_TRUE(parsed);
  const boost::json::object& earlier = parsed->at("earlier_work").as_object();
  EXPECT_EQ(earlier.at("reason"), "PUSH_FAILED");
  EXPECT_EQ(earlier.at("message"), "a key is in config.py; blocked by a person: take it out");
}

TEST(CardRunInput, HasTheVerifiedWorkOfACardThatAPersonBlocked) {  // A9
  Card card = conflicting_card();
  card.code = blocked_by_person_code;
  card.message = "wait for the release";
  World world;
  world.ended_runs.put(card.run_id, EndedRun{});
  const auto input = input_of_card_run(world, card);
  ASSERT_TRUE(input);
  const auto parsed = parse_json(*input);
  ASSERT_TRUE(parsed);
  const boost::json::object& earlier = parsed->at("earlier_work").as_object();
  EXPECT_EQ(earlier.at("branches"),
            boost::json::value("signalbox/" + to_string(card.run_id) + "-*"));
  EXPECT_EQ(earlier.at("message"), "wait for the release");
}

// Its work was verified, so whoever does it again needs to know what didn't go with it.
TEST(CardRunInput, HasTheBranchAndTheFailureOfAnyMergeBefore) {  // A9
  for (const std::string code : {"CHECKS_FAILED", "CHECK_NOT_RUNNABLE", "WORKSPACE_TAMPERED"}) {
    SCOPED_TRACE(code);
    Card card = conflicting_card();
    card.code = code;
    card.message = "failed: unit";
    World world;
    EndedRun verified;
    world.ended_runs.put(card.run_id, verified);
    const auto input = input_of_card_run(world, card);
    ASSERT_TRUE(input);
    const auto parsed = parse_json(*input);
    ASSERT_TRUE(parsed);
    const boost::json::object& merge = parsed->at("failed_merge").as_object();
    EXPECT_EQ(merge.at("reason"), boost::json::value(code));
    EXPECT_EQ(merge.at("branch"), boost::json::value(branch_of(card.run_id, card.token)));
    EXPECT_EQ(merge.at("message"), "failed: unit");
  }
}

// The token is that of an earlier run, whose merge failed and whose work was done again.
TEST(CardRunInput, DoesNotTakeAFailedRunForAMerge) {  // A9
  Card card = conflicting_card();
  card.code = "CHECKS_FAILED";
  World world;
  EndedRun failed;
  failed.status = RunStatus::failed;
  world.ended_runs.put(card.run_id, failed);
  EXPECT_FALSE(input_of_card_run(world, card));
}

TEST(CardRunInput, IsEmptyForAnyOtherCard) {  // A9
  EXPECT_FALSE(input_of_card_run(World{}, Card{}));
  Card card = conflicting_card();
  card.code = "CHECKS_FAILED";
  EXPECT_FALSE(input_of_card_run(World{}, card)) << "nothing says that it was verified";
  card.code = blocked_by_person_code;
  EXPECT_FALSE(input_of_card_run(World{}, card));
}

}  // namespace
}  // namespace signalbox
