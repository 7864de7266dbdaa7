// Finding and erasing the free texts of events.
#include "domain/free_text.h"

#include <gtest/gtest.h>

namespace signalbox {
namespace {

std::vector<std::string> fields_of(const Event& event) { return free_text_fields(event); }

TEST(FreeText, IsFoundWhereverItStands) {
  RunStarted started;
  started.goal = "make it fast";
  started.input = "{\"a\":1}";
  started.project = "trains";
  started.labels = {{"team", "blue"}, {"who", "ann"}};
  started.pipeline = default_pipeline();
  EXPECT_EQ(free_texts(RunEvent(started)), (std::vector<FoundText>{{"goal", "make it fast"},
                                                                   {"input", "{\"a\":1}"},
                                                                   {"labels", "blue"},
                                                                   {"labels", "ann"}}));
  StationFailed failed;
  failed.station = "verify";
  failed.failure.code = "EXIT_NONZERO";
  failed.failure.message = "it said no";
  failed.result.summary = "red";
  EXPECT_EQ(fields_of(StationEvent(failed)),
            (std::vector<std::string>{"failure.message", "result.summary"}));
  PlanSet plan;
  plan.steps = {{"one", "read it", StepType::explore, {}, StepEffort::small},
                {"two", "do it", StepType::implement, {"one"}, StepEffort::small}};
  EXPECT_EQ(fields_of(PlanEvent(plan)), (std::vector<std::string>{"steps.description"}));
  EXPECT_TRUE(free_texts(LockEvent(LockReleased{"deploy", "ann", 3, "/tmp"})).empty());
}

TEST(FreeText, IsBlankedAndNothingElse) {
  RunStarted started;
  started.goal = "make it fast";
  started.input = "{\"a\":1}";
  started.project = "trains";
  started.labels = {{"team", "blue"}};
  started.max_retries = 4;
  RunStarted expected = started;
  expected.goal = blanked_text;
  expected.input = "{\"redacted\":true}";
  expected.labels = {{"team", std::string(blanked_text)}};
  const std::vector<std::string> all = free_text_fields(RunEvent(started));
  const Event blanked = without_free_texts(RunEvent(started), all, Blank::telling);
  EXPECT_EQ(blanked, Event(RunEvent(expected)));
  EXPECT_EQ(without_free_texts(blanked, all, Blank::telling), blanked);
  EXPECT_EQ(without_free_texts(blanked, all, Blank::shortest), blanked);

  RunStarted only_goal = started;
  only_goal.goal = "-";
  const std::vector<std::string> goal{"goal"};
  EXPECT_EQ(without_free_texts(RunEvent(started), goal, Blank::shortest),
            Event(RunEvent(only_goal)));
}

TEST(FreeText, LeavesAloneWhatIsEmpty) {
  const std::vector<std::string> fields{"reason"};
  EXPECT_EQ(without_free_texts(RunEvent(RunPaused{}), fields, Blank::telling),
            Event(RunEvent(RunPaused{})));
}

}  // namespace
}  // namespace signalbox
