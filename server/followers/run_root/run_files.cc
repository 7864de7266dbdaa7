#include "server/followers/run_root/run_files.h"

#include <algorithm>

#include "domain/try.h"
#include "projections/run_history.h"
#include "server/followers/run_root/render_run.h"
#include "server/followers/run_root/run_root_state.h"

namespace signalbox {
namespace {

tl::unexpected<StoreError> not_in_index(const std::string& what, Position position) {
  return store_failure(StoreError::Kind::damaged,
                       "the run index doesn't have " + what + " of a run", {}, position);
}

}  // namespace

bool RunFiles::wanted(const std::string& named_root, const PipelineDefinition& pipeline) {
  if (!named_root.empty()) return true;
  return std::any_of(
      pipeline.stations.begin(), pipeline.stations.end(),
      [](const StationDefinition& station) { return station.executor != ExecutorKind::worker; });
}

Stored<std::optional<RunFiles::Rendered>> RunFiles::render(const RunId& run_id, Position position,
                                                           bool only_if_wanted) const {
  if (!projector_.follow_to(position)) {
    return tl::unexpected(
        StoreError{StoreError::Kind::io, "the read models can't be followed", {}, position});
  }
  const RunIndex& index = projector_.index();
  const auto positions = TRY(index.run_positions(run_id));
  if (positions.empty()) return std::nullopt;
  const auto first = TRY(read_records(log_, std::span(positions).first(1)));
  const auto* started = event_as<RunStarted>(first.front().event);
  if (started == nullptr) return not_in_index("the start", positions.front());
  const auto pipeline = TRY(index.find_pipeline(started->pipeline_digest));
  if (!pipeline) return not_in_index("the pipeline", positions.front());

  Rendered rendered;
  rendered.root = run_root_of(started->run_root, run_id, runs_);
  rendered.started_position = positions.front();
  rendered.named_root = !started->run_root.empty();
  if (only_if_wanted && !wanted(started->run_root, *pipeline)) {
    const std::filesystem::path root = rendered.root;
    std::error_code error;
    if (!std::filesystem::exists(root / run_root_path::manifest, error)) return std::nullopt;
  }
  const auto records = TRY(read_records(log_, positions));
  rendered.changes = render_run(records, *pipeline, rendered.root);
  return rendered;
}

}  // namespace signalbox
