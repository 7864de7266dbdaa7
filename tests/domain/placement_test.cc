// Where the jobs of a run may be executed: its labels, its repository, and where the first one was.
#include <string>
#include <vector>

#include "domain/admission.h"
#include "domain/limits.h"
#include "domain/placement.h"
#include "tests/domain/given_when_then.h"

namespace signalbox {
namespace {

using Labels = std::vector<std::string>;

const std::string the_runner = runner_id("one", "0123456789abcdef");

StationDefinition labelled(std::string name, const Labels& labels) {
  StationDefinition station = process_station(std::move(name));
  for (const std::string& label : labels) station.environment.push_back(variable_of_label(label));
  return station;
}

PipelineDefinition two_stations(const Labels& labels) {
  return {"p", {labelled("a", labels), labelled("b", labels)}};
}

class Placement : public GivenWhenThen {
 protected:
  signalbox::Run& the() { return *world.find_run(run); }
  static JobPlace place(Labels labels, std::vector<std::string> repositories = {}) {
    return {the_runner, std::move(labels), std::move(repositories)};
  }
  // Begins the run's next job at the machine.
  void dispatch(const std::string& machine) {
    when(DispatchStation{the().id, uuid_of(9), {}, machine});
  }
};

TEST(RunnerLabels, AreShortLowerCaseWords) {  // N3
  for (const char* good : {"gpu", "a", "0", "linux-6.1", "x_y"}) EXPECT_TRUE(is_runner_label(good));
  for (const char* bad : {"", "GPU", "-a", ".a", "a b", "a,b", "a/b", "\xC3\xA9"}) {
    EXPECT_FALSE(is_runner_label(bad)) << bad;
  }
  EXPECT_TRUE(is_runner_label(std::string(limits::label_bytes_max, 'a')));
  EXPECT_FALSE(is_runner_label(std::string(limits::label_bytes_max + 1, 'a')));
}

TEST(RunnerLabels, ArePartOfADefinitionAndListedOnce) {  // N3
  const StationDefinition station = labelled("a", {"gpu", "arm", "gpu"});
  EXPECT_EQ(labels_of(station), (Labels{"arm", "gpu"}));
  EXPECT_TRUE(labels_of(process_station("a")).empty());
}

TEST(RunnerLabels, OfAPipelineAreValidAndFew) {  // N3
  EXPECT_TRUE(validate(two_stations({"gpu"})));
  Labels many;
  for (std::size_t index = 0; index < limits::labels_max; ++index) {
    many.push_back("l" + std::to_string(index));
  }
  EXPECT_TRUE(validate(two_stations(many)));
  many.emplace_back("one-more");
  for (const Labels& labels : {many, Labels{"GPU"}, Labels{""}}) {
    const auto refused = validate(two_stations(labels));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::PIPELINE_INVALID);
    EXPECT_NE(refused.error().message.find("runs_on"), std::string::npos);
  }
  StationDefinition work = worker_station("a");
  work.environment = {variable_of_label("gpu")};
  EXPECT_FALSE(validate(PipelineDefinition{"p", {work}})) << "no station has a job";
}

TEST_F(Placement, WithoutLabelsTheServiceAndARunnerSuit) {  // N3
  given({started(two_stations({}))});
  EXPECT_TRUE(suits_service(the()));
  EXPECT_TRUE(suits_runner(the(), place({"gpu"})));
}

TEST_F(Placement, LabelsAreForRunnersThatHaveAllOfThem) {  // N3
  given({started(two_stations({"arm", "gpu"}))});
  EXPECT_FALSE(suits_service(the()));
  EXPECT_FALSE(suits_runner(the(), place({"gpu"})));
  EXPECT_TRUE(suits_runner(the(), place({"arm", "gpu", "linux"})));
}

TEST_F(Placement, ARepositoryIsForRunnersThatHaveIt) {  // N3
  given({started(two_stations({}))});
  the().repository = "/srv/app";
  EXPECT_TRUE(suits_service(the()));
  EXPECT_FALSE(suits_runner(the(), place({}, {"/srv/other"})));
  EXPECT_TRUE(suits_runner(the(), place({}, {"/srv/app"})));
}

TEST_F(Placement, ARunRootThatSomebodyNamedIsTheServices) {
  given({started(two_stations({}))});
  the().run_root = "/srv/runs/1";
  EXPECT_TRUE(suits_service(the()));
  EXPECT_FALSE(suits_runner(the(), place({})));
}

// Its checks need what the work itself needs.
TEST_F(Placement, AMergeIsMadeWhereTheServiceIsUnlessTheProjectAsksForLabels) {  // N3, H6
  Project site;
  site.name = "site";
  site.repository = "/srv/app";
  site.remote = "origin";
  site.pipeline = {"card", {labelled("a", {})}};
  given({started(*run_of_merge(site, {}).pipeline)});
  the().repository = site.repository;
  EXPECT_TRUE(suits_service(the()));
  EXPECT_FALSE(suits_runner(the(), place({"gpu"}, {"/srv/app"})));
  site.pipeline = {"card", {labelled("a", {"gpu"})}};
  signalbox::Run far = the();
  far.pipeline = std::make_shared<const PipelineDefinition>(*run_of_merge(site, {}).pipeline);
  EXPECT_FALSE(suits_service(far));
  EXPECT_TRUE(suits_runner(far, place({"gpu"}, {"/srv/app"})));
}

// Its workspace is there, and so are all of its further jobs.
TEST_F(Placement, ARunStaysWhereItsFirstJobWas) {  // N3
  given({started(two_stations({"gpu"}))});
  dispatch(the_runner);
  EXPECT_EQ(the().machine, the_runner);
  EXPECT_EQ(the().attempt->worker, the_runner);
  given({succeeded("a")});
  EXPECT_EQ(the().machine, the_runner);
  EXPECT_EQ(ready_queue_of(the()).name, the_runner);
  EXPECT_EQ(world.ready.oldest(ExecutorKind::process, {the_runner}), the().id);
  EXPECT_FALSE(world.ready.oldest(ExecutorKind::process, {"runner:other-1"}));
}

// If its runner is evicted, a run that needs its worktree waits for a person, and holds nobody up.
TEST_F(Placement, ARunThatNeedsItsWorktreeIsInAQueueOfItsOwn) {  // N3
  given({started(two_stations({"gpu"}))});
  dispatch(the_runner);
  the().repository = "/srv/app";
  EXPECT_EQ(ready_queue_of(the()).name, the_runner);
  the().current = 1;
  EXPECT_NE(ready_queue_of(the()).name, the_runner);
  EXPECT_TRUE(ready_queue_of(the()).name.starts_with(the_runner));
}

TEST_F(Placement, ARunThatBeganHereIsInTheQueueOfWhatStaysHere) {  // N3
  given({started(two_stations({}))});
  const std::string free_queue = ready_queue_of(the()).name;
  dispatch("0123456789abcdef0123456789abcdef");
  EXPECT_EQ(the().attempt->worker, "signalbox");
  given({succeeded("a")});
  EXPECT_NE(ready_queue_of(the()).name, free_queue);
  EXPECT_EQ(ready_queue_of(the()).name, "");
}

// A log of a version that didn't record machines: its workspace is where the service was.
TEST_F(Placement, ARunThatBeganWithoutARecordOfWhereStaysHere) {  // N3
  given({started(two_stations({})), dispatched("a"), intended("a"), succeeded("a")});
  EXPECT_TRUE(suits_service(the()));
  EXPECT_FALSE(suits_runner(the(), place({})));
}

TEST_F(Placement, WhatDiffersInLabelsOrRepositoryWaitsInQueuesOfItsOwn) {  // N3
  given({started(two_stations({"gpu"}))});
  const std::string gpu = ready_queue_of(the()).name;
  signalbox::Run other = the();
  other.repository = "/srv/app";
  EXPECT_NE(ready_queue_of(other).name, gpu);
  const PipelineDefinition plain = two_stations({});
  other = the();
  other.pipeline = std::make_shared<const PipelineDefinition>(plain);
  EXPECT_NE(ready_queue_of(other).name, gpu);
}

TEST(ReadyStations, TheOldestOfEachQueueComeInTheirOrder) {
  ReadyStations ready;
  ready.insert(ExecutorKind::process, "x", 5, uuid_of(1));
  ready.insert(ExecutorKind::process, "x", 6, uuid_of(2));
  ready.insert(ExecutorKind::process, "y", 3, uuid_of(3));
  ready.insert(ExecutorKind::checks, "z", 1, uuid_of(4));
  EXPECT_EQ(ready.oldest_of_each(ExecutorKind::process), (std::vector{uuid_of(3), uuid_of(1)}));
}

}  // namespace
}  // namespace signalbox
