// ProjectPut as it was stored before its pipeline said whether a station names max_retries. Frozen:
// logs with this shape exist on users' disks.
#pragma once

#include <string>
#include <tuple>
#include <utility>

#include <boost/describe/class.hpp>

#include "domain/project_events.h"
#include "store/history.h"
#include "store/pipeline_definition_v2.h"

namespace signalbox {

struct ProjectPutV1 {
  std::string repository;
  std::string base;
  std::string remote;
  PipelineDefinitionV2 pipeline;
};
BOOST_DESCRIBE_STRUCT(ProjectPutV1, (), (repository, base, remote, pipeline))

inline ProjectPut upcast(ProjectPutV1 old) {
  return {std::move(old.repository), std::move(old.base), std::move(old.remote),
          upcast(std::move(old.pipeline))};
}

template <>
struct History<ProjectPut> {
  using Frozen = std::tuple<ProjectPutV1>;
};

}  // namespace signalbox
