// `run.diff`: what a run has changed, at any time.
#include <algorithm>
#include <utility>

#include "domain/limits.h"
#include "domain/pipeline.h"
#include "domain/refusals.h"
#include "domain/try.h"
#include "projections/run_history.h"
#include "server/board/run_change.h"
#include "server/board/worktree_keeper.h"
#include "server/engine/dropped_history.h"
#include "server/engine/engine.h"
#include "server/limits.h"
#include "server/platform/artifact_store.h"
#include "server/platform/call_bounds.h"
#include "server/rpc/artifact_work.h"
#include "server/rpc/methods/run_methods.h"
#include "server/rpc/methods/timeline_json.h"
#include "server/rpc/read_models.h"
#include "server/text/described_json.h"
#include "server/text/text_part.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// A run whose change was asked for.
struct ChangeQuestion {
  RunChangePlace place;
  std::string path;
  std::uint64_t offset = 0;
  std::optional<ArtifactPlace> patch;  // of the run's newest change.patch
  bool has_worktree = false;           // its pipeline has an intake, which makes one
};

bool makes_worktree(const TimelineStation& station) {
  if (station.executor != ExecutorKind::builtin) return false;
  const auto builtin = parse_builtin(station.name);
  return builtin == BuiltinStation::intake || builtin == BuiltinStation::merge;
}

Decided<ChangeQuestion> change_question(const Api& api, const RunIndex& index,
                                        const DiffRun& asked) {
  const auto timeline = read_timeline(api.log, index, asked.run_id);
  if (!timeline) return unreadable(timeline.error());
  if (!*timeline) return tl::unexpected(run_not_found(api.log, asked.run_id));
  const RunTimeline& run = **timeline;
  const std::string id = to_string(asked.run_id);
  const std::filesystem::path data = api.facts.data_directory;
  const std::string& named = run.started.run_root;
  const std::filesystem::path root =
      named.empty() ? data / "runs" / id : std::filesystem::path(std::string(named));
  ChangeQuestion question;
  question.place = {asked.run_id, run.started_position, std::string(run.started.repository),
                    root / "workspace", data / "workspaces" / id};
  question.path = asked.path.value_or("");
  question.offset = asked.offset.value_or(0);
  question.has_worktree = std::ranges::any_of(run.stations, makes_worktree);
  const auto current = current_artifacts(run);
  const auto patch = current.find("change.patch");
  if (patch != current.end()) question.patch = place_in(run, *patch->second);
  return question;
}

Rejection no_change(const ChangeQuestion& question, const std::string& why) {
  const std::string id = to_string(question.place.run_id);
  return {ErrorCode::ARTIFACT_NOT_FOUND, why, {{"run_id", id}}, {"signalbox run get " + id}};
}

Rejection git_failed(const ChangeQuestion& question, const std::string& why) {
  const std::string id = to_string(question.place.run_id);
  return {ErrorCode::GIT_FAILED,
          "the change can't be shown now: " + why,
          {{"run_id", id}, {"repository", question.place.repository.string()}},
          {"signalbox run get " + id}};
}

void add_part(const TextPart& part, json::object& result) {
  result["is_cut"] = part.offset != 0 || part.next_offset != part.end;
  result["offset"] = part.offset;
  result["next_offset"] = part.next_offset;
  result["end"] = part.end;
  result["sha256"] = to_hex(part.sha256);
  result["text"] = part.text;
}

json::object change_json(const RunId& run_id, const RunChange& change) {
  json::object result;
  result["run_id"] = to_string(run_id);
  result["source"] = change.source;
  result["base"] = change.base;
  result["head"] = text_or_null(change.head);
  result["files"] = change.files;
  result["added"] = change.added;
  result["removed"] = change.removed;
  add_part(change.part, result);
  return result;
}

// Returns the artifact, if neither the worktree nor a ref of the run is there. Blocks on the store.
Decided<json::object> change_of_artifact(const Api& api, const ChangeQuestion& question) {
  if (!question.patch && !question.has_worktree) {
    return tl::unexpected(
        no_change(question,
                  "the run's pipeline has no intake station, which would make a worktree of the "
                  "repository for it: the run works elsewhere, and nobody knows what it changes"));
  }
  if (!question.patch || !question.path.empty()) {
    return tl::unexpected(no_change(question, "the run's worktree, branch and patch aren't there"));
  }
  const auto content = api.artifacts.get_at(*question.patch);
  if (!content && is_store_away(content.error())) {
    return tl::unexpected(unreadable_artifact(api, "change.patch", content.error()));
  }
  if (!content) return tl::unexpected(no_change(question, content.error().message));
  json::object result;
  result["run_id"] = to_string(question.place.run_id);
  result["source"] = "artifact";
  for (const char* unknown : {"base", "head", "files", "added", "removed"}) {
    result[unknown] = nullptr;
  }
  TextPartReader reader(question.offset, run_change_bytes_max);
  reader.add(*content);
  add_part(reader.finish(), result);
  return result;
}

// Returns nullopt if git has nothing of the change. Blocks on git.
Decided<std::optional<json::object>> answer_of_git(const ChangeQuestion& question) {
  const CallBounds bounds(CallBounds::now_ms() + limits::run_diff_git_ms_max);
  if (question.place.repository.empty()) {
    return tl::unexpected(no_change(question, "the run has no repository"));
  }
  auto change = run_change(question.place, question.path, question.offset);
  if (!change) return tl::unexpected(git_failed(question, change.error()));
  if (!*change) return std::nullopt;
  return change_json(question.place.run_id, **change);
}

void answer_from_artifact(Api& api, const Responder& responder, const ChangeQuestion& question,
                          Position position) {
  run_artifact_work(
      api, responder.caller(), "change of run " + to_string(question.place.run_id),
      [responder](const Rejection& why) { responder.reject(why); },
      [&api, responder, question, position]() -> std::function<void()> {
        return responder.prepare(change_of_artifact(api, question), position);
      });
}

void run_git(Api& api, const Responder& responder, const ChangeQuestion& question,
             Position position) {
  Lane lane = worktree_lane(question.place.repository.string());
  lane.deadline_ms = limits::run_diff_ms_max;
  lane.failed = [responder](LaneFailure) {
    responder.reject({ErrorCode::OVERLOADED,
                      "git doesn't answer, or others work in the repository: try again soon",
                      {{"run_diff_ms_max", limits::run_diff_ms_max}},
                      {"signalbox status"}});
  };
  api.repositories.run(
      std::move(lane), [&api, responder, question, position]() -> std::function<void()> {
        auto found = answer_of_git(question);
        if (found && !*found) {
          return [&api, responder, question, position] {
            answer_from_artifact(api, responder, question, position);
          };
        }
        return responder.prepare(
            std::move(found).map([](auto&& change) { return *std::move(change); }), position);
      });
}

}  // namespace

void diff_run(Api& api, Call& call) {
  const auto asked = from_json<DiffRun>(call.params);
  if (!asked) return call.responder.reject(asked.error());
  if (auto ok = require_at_most("path", asked->path.value_or(""), limits::path_bytes_max); !ok) {
    return call.responder.reject(ok.error());
  }
  const Position position = api.engine.world().position;
  query_read_models(api, call.responder, position,
                    [&api, responder = call.responder, asked = *asked](const RunIndex& index) {
                      return [&api, responder, shown = index.applied(),
                              question = change_question(api, index, asked)] {
                        if (!question) return responder.reject(question.error());
                        run_git(api, responder, *question, shown);
                      };
                    });
}

}  // namespace signalbox
