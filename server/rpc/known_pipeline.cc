#include "server/rpc/known_pipeline.h"

#include <utility>

#include "domain/try.h"
#include "server/rpc/pipeline_json.h"
#include "store/codec.h"

namespace signalbox {

KnownPipeline::KnownPipeline(CoderunnerMode mode, DefaultPipeline unnamed)
    : mode_(mode), unnamed_{pipeline_of(unnamed, mode), {}} {
  unnamed_.digest = pipeline_digest(unnamed_.definition);
}

Decided<const PinnedDefinition*> KnownPipeline::read(const boost::json::value& tables) {
  if (!tables_.is_null() && tables_ == tables) return &pinned_;
  auto definition = TRY(pipeline_from_json(tables));
  tables_ = nullptr;  // leaves the cache empty if the rest throws
  for (StationDefinition& station : definition.stations) {
    if (station.coderunner && !station.coderunner->mode) station.coderunner->mode = mode_;
  }
  pinned_.definition = std::move(definition);
  pinned_.digest = pipeline_digest(pinned_.definition);
  tables_ = tables;
  return &pinned_;
}

}  // namespace signalbox
