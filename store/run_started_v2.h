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
  event.goal = std::move(old.goal);
  event.input = std::move(old.input);
  event.project = std::move(old.project);
  event.labels = std::move(old.labels);
  event.idempotency_key = std::move(old.idempotency_key);
  event.request_digest = old.request_digest;
  event.pipeline_digest = old.pipeline_digest;
  if (old.pipeline) event.pipeline = upcast(*std::move(old.pipeline));
  event.run_root = std::move(old.run_root);
  event.repository = std::move(old.repository);
  event.base = std::move(old.base);
  event.budget = old.budget;
  event.max_retries = old.max_retries;
  return event;
}

}  // namespace signalbox
