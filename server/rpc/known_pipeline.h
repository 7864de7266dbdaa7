// The pipeline of runs that name none, and a cache of the pipeline that was parsed last: clients
// that start many runs send the same tables with each of them.
#pragma once

#include <boost/json/value.hpp>

#include "domain/default_pipeline.h"
#include "domain/error.h"
#include "domain/ids.h"
#include "domain/pipeline.h"

namespace signalbox {

struct PinnedDefinition {
  PipelineDefinition definition;
  Digest digest;
};

// Not thread-safe. Its size is bounded by the length of a request's line.
class KnownPipeline {
 public:
  // `mode` is set in coderunner stations that name none. It is fixed for the run's whole life, so
  // that a restart of the server with another mode doesn't affect the run.
  explicit KnownPipeline(CoderunnerMode mode = CoderunnerMode::mock,
                         DefaultPipeline unnamed = DefaultPipeline::workers);

  // Returns the pipeline of a run that names none.
  [[nodiscard]] const PinnedDefinition& unnamed() const { return unnamed_; }

  // Parses `tables` as pipeline_from_json() does, with the same errors. The result is valid until
  // the next call.
  Decided<const PinnedDefinition*> read(const boost::json::value& tables);

 private:
  CoderunnerMode mode_;
  PinnedDefinition unnamed_;
  boost::json::value tables_;  // the cache's key; null: empty
  PinnedDefinition pinned_;
};

}  // namespace signalbox
