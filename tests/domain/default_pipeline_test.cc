// The pipelines of runs that name none.
#include "domain/default_pipeline.h"

#include <gtest/gtest.h>

namespace signalbox {
namespace {

TEST(DefaultPipelineTest, AgentsDoWhatIsBetweenIntakeAndCreatePr) {  // A12
  const PipelineDefinition workers = pipeline_of(DefaultPipeline::workers, CoderunnerMode::mock);
  EXPECT_EQ(workers, default_pipeline()) << "as it always was";
  const PipelineDefinition mock = pipeline_of(DefaultPipeline::agents, CoderunnerMode::mock);
  EXPECT_TRUE(validate(mock).has_value());
  EXPECT_EQ(mock.name, "mock");
  ASSERT_EQ(mock.stations.size(), workers.stations.size());
  for (std::size_t index = 0; index < mock.stations.size(); ++index) {
    const StationDefinition& station = mock.stations[index];
    EXPECT_EQ(station.name, workers.stations[index].name);
    if (builtin_of(station)) continue;
    EXPECT_EQ(station.executor, ExecutorKind::coderunner) << station.name;
    EXPECT_EQ(station.coderunner->mode, CoderunnerMode::mock);
  }
  const PipelineDefinition real = pipeline_of(DefaultPipeline::agents, CoderunnerMode::process);
  EXPECT_TRUE(validate(real).has_value());
  EXPECT_EQ(real.name, "agents");
}

TEST(DefaultPipelineTest, AMockIsFoundWhereverItIs) {  // A12
  PipelineDefinition pipeline = pipeline_of(DefaultPipeline::agents, CoderunnerMode::mock);
  EXPECT_EQ(mocked_in(pipeline), Mocked::everything);
  pipeline.stations.pop_back();
  pipeline.name = "mine";
  pipeline.stations[1].timeout_ms += 1;
  pipeline.stations[2].coderunner->prompt = "say {{goal}}";
  EXPECT_EQ(mocked_in(pipeline), Mocked::everything) << "its work is, not its settings";
  pipeline.stations[1].coderunner->mode.reset();
  EXPECT_EQ(mocked_in(pipeline), Mocked::everything) << "no mode is the mode mock";
  StationDefinition& added = pipeline.stations.emplace_back();
  added.name = "release";
  added.executor = ExecutorKind::approval;
  EXPECT_EQ(mocked_in(pipeline), Mocked::everything);
  for (const ExecutorKind kind : {ExecutorKind::process, ExecutorKind::checks, ExecutorKind::worker,
                                  ExecutorKind::modal, ExecutorKind::deep_work}) {
    added.executor = kind;
    EXPECT_EQ(mocked_in(pipeline), Mocked::agents) << "another station works";
  }
  for (const BuiltinStation builtin : {BuiltinStation::merge, BuiltinStation::push}) {
    added = builtin_station(builtin);
    EXPECT_EQ(mocked_in(pipeline), Mocked::agents) << "it publishes";
  }
  added = builtin_station(BuiltinStation::create_pr);
  EXPECT_EQ(mocked_in(pipeline), Mocked::everything);
  pipeline.stations[1].coderunner->mode = CoderunnerMode::process;
  EXPECT_EQ(mocked_in(pipeline), Mocked::agents);
  EXPECT_EQ(mocked_in(pipeline_of(DefaultPipeline::agents, CoderunnerMode::process)),
            Mocked::nothing);
  EXPECT_EQ(mocked_in(default_pipeline()), Mocked::nothing);
}

}  // namespace
}  // namespace signalbox
