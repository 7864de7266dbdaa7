#include "server/rpc/methods/run_views.h"

#include "domain/limits.h"
#include "domain/try.h"
#include "projections/run_history.h"
#include "server/engine/dropped_history.h"
#include "server/platform/artifact_store.h"
#include "server/platform/attempt_bundle.h"
#include "server/rpc/artifact_work.h"
#include "server/rpc/methods/card_views.h"
#include "server/rpc/methods/timeline_json.h"
#include "server/rpc/read_models.h"
#include "server/text/described_json.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct LoadedRun {
  RunRow row;
  RunHistory history;
  RunTimeline timeline;
};

Decided<LoadedRun> load(const Api& api, const RunIndex& index, const RunId& run_id) {
  auto row = index.find(run_id);
  if (!row) return unreadable(row.error());
  if (!*row) {
    return tl::unexpected(run_not_found(api.log, run_id));
  }
  auto history = read_history(api.log, index, run_id);
  if (!history) return unreadable(history.error());
  RunTimeline timeline = fold_timeline((*history)->records, (*history)->pipeline);
  return LoadedRun{std::move(**row), std::move(**history), std::move(timeline)};
}

}  // namespace

Decided<json::object> run_view(const Api& api, const RunIndex& index, const RunId& run_id) {
  const auto whole = TRY(load(api, index, run_id));
  const std::string& named = whole.timeline.started.run_root;
  const std::string run_root =
      named.empty() ? api.facts.data_directory + "/runs/" + to_string(run_id) : named;
  json::object result;
  result["run"] = timeline_to_json(
      whole.row, whole.timeline, run_root,
      [&](const ArtifactPlace& place) { return api.artifacts.location_at(place); });
  json::object& run = result["run"].as_object();
  if (api.are_files_removed && api.are_files_removed(run_id)) run["files_removed"] = true;
  add_findings(whole.history, run);
  return result;
}

Decided<FoundArtifact> find_artifact(const Api& api, const RunIndex& index, const RunId& run_id,
                                     const std::string& name) {
  const auto whole = TRY(load(api, index, run_id));
  const auto current = current_artifacts(whole.timeline);
  const auto found = current.find(name);
  if (found == current.end()) {
    std::vector<std::string> names;
    for (const auto& [each, artifact] : current) names.push_back(each);
    return reject(ErrorCode::ARTIFACT_NOT_FOUND, "the run has no artifact " + name,
                  {{"run_id", to_string(run_id)}, {"name", name}, {"artifacts", names}},
                  {"signalbox run get " + to_string(run_id)});
  }
  return FoundArtifact{*found->second, place_in(whole.timeline, *found->second)};
}

Decided<json::object> artifact_content(const Api& api, const RunId& run_id,
                                       const FoundArtifact& found) {
  const Artifact& artifact = found.artifact;
  const bool is_short = artifact.bytes <= limits::artifact_inline_bytes_max;
  const bool are_removed = api.are_files_removed && api.are_files_removed(run_id);
  json::object result = to_json(artifact).as_object();
  result["path"] = api.artifacts.location_at(found.place);
  add_place(found.place, result);
  if (!is_short && !are_removed) return result;
  Stored<std::string> content;
  if (is_short) {
    content = api.artifacts.get_at(found.place);
  } else if (const auto is_there = api.artifacts.has_at(found.place); !is_there) {
    content = tl::unexpected(is_there.error());
  } else if (!*is_there) {
    content = store_failure(StoreError::Kind::not_found, "it isn't there");
  }
  if (!content && are_removed && content.error().kind == StoreError::Kind::not_found) {
    return reject(ErrorCode::FILES_REMOVED,
                  "the artifact " + artifact.name + " was removed by the retention of files",
                  {{"run_id", to_string(run_id)}, {"sha256", to_hex(artifact.sha256)}},
                  {"signalbox run get " + to_string(run_id)});
  }
  if (!content) {
    return tl::unexpected(unreadable_artifact(api, artifact.name, content.error()));
  }
  if (is_short && is_utf8(*content)) result["content"] = *content;
  return result;
}

}  // namespace signalbox
