// What an attempt under way can't end without.
#include "domain/attempt_wait.h"

#include "domain/refusals.h"
#include "domain/station_turn.h"
#include "tests/domain/plan_fixture.h"

namespace signalbox {
namespace {

Event question_of(const std::string& station) {
  return StationEvent{StationApprovalRequested{station, 1, "may I?"}};
}

class AttemptWaitTest : public PlanTest {
 protected:
  [[nodiscard]] AttemptWait wait_now(const AttemptSurroundings& around = {}) const {
    return attempt_wait(the_run(), around);
  }
  void given_job() {
    given({started({"p", {process_station("a")}}), dispatched("a"), intended("a")});
  }
  [[nodiscard]] static DeepWorkDefinition by_workers() { return {}; }
};

TEST_F(AttemptWaitTest, AWorkersAttemptNeedsItsWorkerAndAJobItself) {  // O2
  given({started({"p", {worker_station("a")}}), claimed("a")});
  EXPECT_EQ(wait_now().need, AttemptNeed::worker);
  EXPECT_TRUE(wait_now().works());
  EXPECT_EQ(wait_now().unblocked_by, "station.complete by its worker, or its lease's end");
}

TEST_F(AttemptWaitTest, AJobNeverTimesOutWhileItsRunIsPaused) {  // O2
  given_job();
  EXPECT_EQ(wait_now().need, AttemptNeed::work);
  EXPECT_EQ(wait_now().unblocked_by, "the end of its job, or its timeout");
  when(PauseRun{run, {}});
  EXPECT_TRUE(wait_now().works());
  EXPECT_NE(wait_now().unblocked_by.find("never times out"), std::string::npos);
}

TEST_F(AttemptWaitTest, AQuestionNeedsADecisionAndACanceledJobItsEnd) {  // O2
  given_job();
  given({question_of("a")});
  EXPECT_EQ(wait_now().need, AttemptNeed::approval);
  EXPECT_EQ(wait_now().next_commands, decision_commands(the_run()));
  when(CancelRun{run, {}});
  EXPECT_EQ(wait_now().need, AttemptNeed::end_of_job);
  EXPECT_NE(wait_now({false, "A: away"}).text.find("A: away"), std::string::npos)
      << "the cancellation may not get through";
}

TEST_F(AttemptWaitTest, AJobElsewhereNeedsAPersonsWord) {  // O2
  given_job();
  EXPECT_EQ(wait_now({true, ""}).need, AttemptNeed::settlement);
  EXPECT_EQ(wait_now({true, ""}).next_commands.front(), commands_to_settle(the_run()).front());
  given({question_of("a")});
  const AttemptWait both = wait_now({true, ""});
  EXPECT_EQ(both.need, AttemptNeed::settlement);
  EXPECT_EQ(both.next_commands.back(), decision_commands(the_run()).back());
}

TEST_F(AttemptWaitTest, AnEndpointThatFailsIsNamed) {  // O2
  given_job();
  const AttemptWait wait = wait_now({false, "its executor was answered: REMOTE_AWAY"});
  EXPECT_EQ(wait.need, AttemptNeed::endpoint);
  EXPECT_FALSE(wait.works());
  EXPECT_EQ(wait.text, "its executor was answered: REMOTE_AWAY");
}

// Pausing a run keeps the steps of its deep work from beginning, so its attempt never ends.
TEST_F(AttemptWaitTest, DeepWorkOfAPausedRunNeedsItsResumption) {  // O2
  begun_with(by_command(), {step("s1"), step("s2")});
  EXPECT_EQ(wait_now().need, AttemptNeed::work) << "its own command begins the step";
  when(PauseRun{run, {}});
  const AttemptWait wait = wait_now();
  EXPECT_EQ(wait.need, AttemptNeed::paused_run);
  EXPECT_NE(wait.text.find("s1"), std::string::npos) << wait.text;
  EXPECT_EQ(wait.next_commands.front(), "signalbox run resume " + to_string(run));
}

TEST_F(AttemptWaitTest, AStepUnderWayEndsBeforeThePauseMatters) {  // O2
  begun_with(by_command(), {step("s1"), step("s2")});
  given({step_started("s1")});
  when(PauseRun{run, {}});
  EXPECT_EQ(wait_now().need, AttemptNeed::work);
  given({step_completed("s1")});
  EXPECT_EQ(wait_now().need, AttemptNeed::paused_run);
}

TEST_F(AttemptWaitTest, APlanForWorkersNeedsOne) {  // O2
  DeepWorkDefinition work;
  work.explore.worker = true;
  work.plan.worker = true;
  begun(work);
  EXPECT_EQ(wait_now().need, AttemptNeed::outside_worker);
  EXPECT_EQ(wait_now().next_commands.front(), "signalbox plan list --waiting-for explore");
  given({explored()});
  EXPECT_EQ(wait_now().next_commands.front(), "signalbox plan list --waiting-for plan");
  given({planned({step("s1")})});
  EXPECT_EQ(wait_now().next_commands.front().find("signalbox step next"), 0U);
}

TEST_F(AttemptWaitTest, AStepForWorkersNeedsOne) {  // O2
  begun_with(by_workers(), {step("s1")});
  const AttemptWait wait = wait_now();
  EXPECT_EQ(wait.need, AttemptNeed::outside_worker);
  EXPECT_FALSE(wait.works());
  EXPECT_EQ(wait.next_commands.front(), "signalbox step next --worker me --run " + to_string(run));
  when(outside());
  then_names({"StepAttemptStarted"});
  EXPECT_EQ(wait_now().need, AttemptNeed::work);
}

}  // namespace
}  // namespace signalbox
