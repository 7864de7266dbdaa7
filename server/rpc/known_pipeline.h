// The pipeline that was read last, so that one which comes again isn't read again: those who start
// many runs send the same tables with each of them.
#pragma once

#include <boost/json/value.hpp>

#include "domain/error.h"
#include "domain/ids.h"
#include "domain/pipeline.h"

namespace signalbox {

struct PinnedDefinition {
  PipelineDefinition definition;
  Digest digest;
};

// One thread. What it keeps is bounded by the length of a line.
class KnownPipeline {
 public:
  // `mode` is pinned in coderunner stations that name none: for the run's whole life, so that a
  // server with another mode changes nothing of it.
  explicit KnownPipeline(CoderunnerMode mode = CoderunnerMode::mock) : mode_(mode) {}

  // As pipeline_from_json. What it gives lasts until the next call.
  Decided<const PinnedDefinition*> read(const boost::json::value& tables);

 private:
  CoderunnerMode mode_;
  boost::json::value tables_;  // null before the first, which tables never are
  PinnedDefinition pinned_;
};

}  // namespace signalbox
