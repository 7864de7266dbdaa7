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
  EXPECT_EQ(mocked_in(pipeline), Mocked::agents) << "nobody knows what else it was to do";
  EXPECT_EQ(mocked_in(pipeline_of(DefaultPipeline::agents, CoderunnerMode::process)),
            Mocked::nothing);
  EXPECT_EQ(mocked_in(default_pipeline()), Mocked::nothing);
}

}  // namespace
}  // namespace signalbox
