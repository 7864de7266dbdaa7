// The pipeline of a run that names none: a setting of the service.
#pragma once

#include <cstdint>

#include <boost/describe/enum.hpp>

#include "domain/pipeline.h"

namespace signalbox {

enum class DefaultPipeline : std::uint8_t {
  agents = 1,   // coding agents do the stations between intake and create_pr
  workers = 2,  // outside workers do, as in default_pipeline()
};
BOOST_DESCRIBE_ENUM(DefaultPipeline, agents, workers)

// Returns the pipeline. Its agents run in `mode`; that of mocks is named `mock`, so that the run's
// name says what it is.
PipelineDefinition pipeline_of(DefaultPipeline which, CoderunnerMode mode);

// The part of a run's work that mocks of coding agents do.
enum class Mocked : std::uint8_t { nothing, agents, everything };
BOOST_DESCRIBE_ENUM(Mocked, nothing, agents, everything)

// Returns `everything` if mocks of coding agents do all the work of the pipeline, whatever its name
// and settings are: its create_pr succeeds without a change. Returns `agents` if only some of its
// work is theirs.
Mocked mocked_in(const PipelineDefinition& pipeline);

}  // namespace signalbox
