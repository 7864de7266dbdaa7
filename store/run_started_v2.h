// RunStarted as it was stored before its pipeline said whether a station names max_retries. Frozen:
// logs with this shape exist on users' disks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <boost/describe/class.hpp>

#include "domain/run_events.h"
#include "store/moved_fields.h"
#include "store/pipeline_definition_v2.h"

namespace signalbox {

struct RunStartedV2 {
  std::string goal;
  std::string input;
  std::string project;
  std::map<std::string, std::string> labels;
  std::string idempotency_key;
  Digest request_digest;
  Digest pipeline_digest;
  std::optional<PipelineDefinitionV2> pipeline;
  std::string run_root;
  std::string repository;
  std::string base;
  Budget budget = {};
  std::optional<std::uint32_t> max_retries;
};
BOOST_DESCRIBE_STRUCT(RunStartedV2, (),
                      (goal, input, project, labels, idempotency_key, request_digest,
                       pipeline_digest, pipeline, run_root, repository, base, budget, max_retries))

inline RunStarted upcast(RunStartedV2 old) {
  RunStarted event;
  move_fields<&RunStartedV2::pipeline>(old, event);
  if (old.pipeline) event.pipeline = upcast(*std::move(old.pipeline));
  return event;
}

}  // namespace signalbox
