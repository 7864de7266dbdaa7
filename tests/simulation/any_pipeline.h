// Pipelines of all kinds, by chance: every executor, few and many retries, short and long times.
#pragma once

#include "domain/pipeline.h"
#include "tests/simulation/seeded_random.h"

namespace signalbox::simulation {

// It passes validate().
PipelineDefinition any_pipeline(SeededRandom& random);
// Of a project, for the runs of its cards: work, and then what verifies it.
PipelineDefinition any_card_pipeline(SeededRandom& random);

// Little enough to be used up by a few attempts.
Budget any_budget(SeededRandom& random);

}  // namespace signalbox::simulation
