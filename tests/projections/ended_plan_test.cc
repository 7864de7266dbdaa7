// The plan of a station that the run has left, reconstructed from the run's records. D6
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "projections/run_history.h"

namespace signalbox {
namespace {

class EndedPlan : public ::testing::Test {
 protected:
  EndedPlan() {
    for (const char* name : {"first", "second", "last"}) {
      StationDefinition station;
      station.name = name;
      if (station.name != "last") {
        station.executor = ExecutorKind::deep_work;
        station.deep_work.emplace();
      }
      pipeline_.stations.push_back(station);
    }
    RunStarted started;
    started.goal = "goal";
    started.pipeline = pipeline_;
    add(RunEvent{started});
  }

  void add(Event event) {
    Record record;
    record.position = 10 * (records_.size() + 1);  // records of other streams are in between
    record.stream = Stream::run(run_);
    record.event = std::move(event);
    records_.push_back(std::move(record));
  }
  // Begins a station whose plan has one step, with the station's name.
  void begin(const std::string& station) {
    add(StationEvent{StationClaimed{station, 1, Strategy::original, "signalbox", 0, 0}});
    add(PlanEvent{ExplorationFinished{station, {"small", {}, {}}, 0, 0}});
    add(PlanEvent{PlanSet{station, {{station, "", StepType::test, {}, StepEffort::small}}, 0}});
    add(PlanEvent{StepAttemptStarted{station, station, 1, Strategy::original, "ann", 1000}});
  }
  void succeed(const std::string& station) {
    add(PlanEvent{StepCompleted{station, 1, "done"}});
    add(StationEvent{StationSucceeded{station, 1, {}}});
  }
  [[nodiscard]] std::shared_ptr<const signalbox::Run> ended(const std::string& station = "") const {
    return fold_ended_plan(records_, pipeline_, station);
  }

  RunId run_{};
  PipelineDefinition pipeline_{"three", {}, {}};
  std::vector<Record> records_;
};

TEST_F(EndedPlan, IsThereOnceItsStationHasEnded) {
  EXPECT_EQ(ended(), nullptr);
  begin("first");
  EXPECT_EQ(ended(), nullptr) << "it is under way";
  succeed("first");
  const auto run = ended();
  ASSERT_NE(run, nullptr);
  EXPECT_EQ(run->definition().name, "first");
  EXPECT_EQ(run->station().status, StationStatus::succeeded);
  EXPECT_FALSE(run->attempt.has_value());
  EXPECT_EQ(run->plan->find("first")->status, StepStatus::completed);
}

TEST_F(EndedPlan, IsThatOfTheLatestStationOrOfTheOneThatIsNamed) {
  begin("first");
  succeed("first");
  begin("second");
  EXPECT_EQ(ended()->definition().name, "first");
  succeed("second");
  EXPECT_EQ(ended()->definition().name, "second");
  EXPECT_EQ(ended("first")->definition().name, "first");
  EXPECT_EQ(ended("last"), nullptr);
}

TEST_F(EndedPlan, OfARunThatWasCanceledOrFailedStaysAsItWas) {
  begin("first");
  const auto before = records_;
  add(StationEvent{StationCanceled{"first"}});
  add(RunEvent{RunCanceled{"enough"}});
  EXPECT_EQ(ended()->station().status, StationStatus::canceled);
  EXPECT_EQ(ended()->plan->find("first")->status, StepStatus::running);

  records_ = before;
  const Failure failure{Outcome::failed, ErrorClass::config, "X", ""};
  add(PlanEvent{StepFailed{"first", 1, "X", failure}});
  add(StationEvent{StationFailed{"first", 1, failure, {}}});
  add(RunEvent{RunFailed{"first", ErrorClass::config, "X", ""}});
  EXPECT_EQ(ended()->station().status, StationStatus::failed);
  EXPECT_EQ(ended()->plan->find("first")->status, StepStatus::failed);
}

}  // namespace
}  // namespace signalbox
