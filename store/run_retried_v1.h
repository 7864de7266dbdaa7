// RunRetried as it was stored before its pipeline said whether a station names max_retries. Frozen:
// logs with this shape exist on users' disks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/describe/class.hpp>

#include "domain/run_events.h"
#include "store/history.h"
#include "store/moved_fields.h"
#include "store/pipeline_definition_v2.h"

namespace signalbox {

struct RunRetriedV1 {
  std::string station;
  std::string reason;
  Strategy strategy = Strategy::original;
  Position started_at = 0;
  std::string goal;
  std::string input;
  std::string idempotency_key;
  Digest request_digest;
  Digest pipeline_digest;
  std::optional<PipelineDefinitionV2> pipeline;
  std::string run_root;
  std::string repository;
  std::string base;
  Budget budget = {};
  Usage used = {};
  std::optional<std::uint32_t> max_retries;
  std::string resume_ref;
  std::string previous;
  std::vector<std::uint32_t> attempts;
};
BOOST_DESCRIBE_STRUCT(RunRetriedV1, (),
                      (station, reason, strategy, started_at, goal, input, idempotency_key,
                       request_digest, pipeline_digest, pipeline, run_root, repository, base,
                       budget, used, max_retries, resume_ref, previous, attempts))

inline RunRetried upcast(RunRetriedV1 old) {
  RunRetried event;
  move_fields<&RunRetriedV1::pipeline>(old, event);
  if (old.pipeline) event.pipeline = upcast(*std::move(old.pipeline));
  return event;
}

template <>
struct History<RunRetried> {
  using Frozen = std::tuple<RunRetriedV1>;
};

}  // namespace signalbox
