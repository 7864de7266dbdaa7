#include "server/rpc/methods/timeline_json.h"

#include <algorithm>

#include <boost/json/parse.hpp>

#include "server/platform/attempt_bundle.h"
#include "server/text/described_json.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

void add_text(json::object& object, const char* name, const std::string& text) {
  if (!text.empty()) object[name] = text;
}

void add_time(json::object& object, const char* name, std::int64_t utc_ns) {
  if (utc_ns != 0) object[name] = format_time(utc_ns);
}

// Returns the name that clients get for an attempt's status.
const char* status_of(const TimelineAttempt& attempt) {
  if (attempt.ended_at_ns == 0) return "running";
  if (attempt.deferred) return "deferred";
  return attempt.outcome ? boost::describe::enum_to_string(*attempt.outcome, "?") : "ended";
}

using CurrentArtifacts = std::map<std::string, const Artifact*>;

json::object attempt_to_json(const TimelineAttempt& attempt, const CurrentArtifacts& current,
                             const std::function<std::string(ArtifactPlace&)>& path_of) {
  json::object object;
  object["attempt"] = attempt.number;
  object["strategy"] = to_json(attempt.strategy);
  object["worker"] = attempt.worker;
  object["token"] = attempt.token;
  object["span_id"] = to_string(attempt.span_id);
  object["status"] = status_of(attempt);
  add_time(object, "started_at", attempt.started_at_ns);
  add_time(object, "ended_at", attempt.ended_at_ns);
  if (attempt.outcome) object["outcome"] = to_json(*attempt.outcome);
  if (attempt.failure) {
    object["error"] = {{"error_class", to_json(attempt.failure->error_class)},
                       {"code", attempt.failure->code},
                       {"message", attempt.failure->message}};
  }
  if (attempt.lock_token != 0) object["lock_token"] = attempt.lock_token;
  if (!attempt.stalls.empty()) {
    json::array stalls;
    for (const TimelineStall& stall : attempt.stalls) {
      stalls.push_back({{"at", format_time(stall.at_ns)},
                        {"action", to_json(stall.action)},
                        {"stalled_ms", stall.stalled_ms}});
    }
    object["stalls"] = std::move(stalls);
  }
  if (attempt.timed_out) object["timed_out_after_ms"] = attempt.timed_out->elapsed_ms;
  add_text(object, "summary", attempt.result.summary);
  add_text(object, "logs_inline", attempt.result.logs_inline);
  add_text(object, "job_id", attempt.job_id);
  add_text(object, "external_ref", attempt.result.external_ref);
  add_text(object, "note", attempt.deferred_note);
  if (attempt.usage != Usage{}) object["usage"] = to_json(attempt.usage);
  if (!attempt.result.metadata.empty()) {
    json::error_code error;
    json::value metadata = json::parse(attempt.result.metadata, error);
    if (!error) object["metadata"] = std::move(metadata);
  }
  json::array artifacts;
  for (const Artifact& artifact : attempt.result.artifacts) {
    json::object one = to_json(artifact).as_object();
    ArtifactPlace place = place_of(attempt.result.artifacts, artifact);
    one["path"] = path_of(place);
    add_place(place, one);
    one["current"] = current.at(artifact.name) == &artifact;
    artifacts.push_back(std::move(one));
  }
  object["artifacts"] = std::move(artifacts);
  return object;
}

json::object station_to_json(const TimelineStation& station, const CurrentArtifacts& current,
                             const std::function<std::string(ArtifactPlace&)>& path_of) {
  json::object object;
  object["station"] = station.name;
  object["executor"] = to_json(station.executor);
  object["status"] = to_json(station.status);
  if (station.waiting) {
    object["waiting_for"] = to_json(*station.waiting);
    add_time(object, "waiting_until", station.waiting_until_ns);
    add_text(object, "waiting_note", station.waiting_note);
    if (station.asked != 0) object["asked"] = station.asked;
  }
  if (station.decided) {
    object["decided"] = {{"decision", to_json(station.decided->decision)},
                         {"at", format_time(station.decided->at_ns)},
                         {"actor", station.decided->actor},
                         {"reason", station.decided->reason}};
    if (station.decided->attempt != 0) {
      object["decided"].as_object()["attempt"] = station.decided->attempt;
    }
  }
  json::array attempts;
  for (const TimelineAttempt& attempt : station.attempts) {
    attempts.push_back(attempt_to_json(attempt, current, path_of));
  }
  object["attempts"] = std::move(attempts);
  return object;
}

}  // namespace

std::map<std::string, const Artifact*> current_artifacts(const RunTimeline& timeline) {
  std::vector<const TimelineAttempt*> attempts;
  for (const TimelineStation& station : timeline.stations) {
    for (const TimelineAttempt& attempt : station.attempts) attempts.push_back(&attempt);
  }
  // A retry of the run may have tried an earlier station again.
  std::sort(attempts.begin(), attempts.end(),
            [](const auto* left, const auto* right) { return left->token > right->token; });
  CurrentArtifacts current;
  for (const TimelineAttempt* attempt : attempts) {
    for (const Artifact& artifact : attempt->result.artifacts) {
      current.emplace(artifact.name, &artifact);
    }
  }
  return current;
}

ArtifactPlace place_in(const RunTimeline& timeline, const Artifact& artifact) {
  for (const TimelineStation& station : timeline.stations) {
    for (const TimelineAttempt& attempt : station.attempts) {
      const auto& artifacts = attempt.result.artifacts;
      const auto is_it = [&artifact](const Artifact& each) { return &each == &artifact; };
      if (std::any_of(artifacts.begin(), artifacts.end(), is_it))
        return place_of(artifacts, artifact);
    }
  }
  return {artifact.sha256, artifact.bytes, std::nullopt};
}

json::object row_to_json(const RunRow& row) {
  json::object object;
  object["run_id"] = to_string(row.run_id);
  object["status"] = to_json(row.status);
  object["project"] = row.project;
  object["labels"] = to_json(row.labels);
  object["goal"] = row.goal;
  object["pipeline"] = row.pipeline;
  object["station"] = row.station;
  object["station_status"] = to_json(row.station_status);
  if (row.waiting) {
    object["waiting_for"] = to_json(*row.waiting);
    add_time(object, "waiting_until", row.waiting_until_ns);
  }
  object["attempts"] = row.attempts;
  object["station_index"] = row.station_index;
  object["stations_total"] = row.stations;
  add_text(object, "worker", row.worker);
  object["cancel_requested"] = row.cancel_requested;
  if (row.status == RunStatus::paused) object["paused_reason"] = row.paused_reason;
  add_time(object, "started_at", row.started_at_ns);
  add_time(object, "updated_at", row.updated_at_ns);
  add_time(object, "ended_at", row.ended_at_ns);
  object["started_position"] = row.started_position;
  object["last_position"] = row.last_position;
  // The row of a run that is being canceled has the cancellation's reason as its message, beside
  // the code of an attempt that failed before.
  const bool is_being_canceled = row.cancel_requested && row.ended_position == 0;
  if (!row.error_code.empty() && !is_being_canceled) {
    object["error"] = {{"code", row.error_code}, {"message", row.error_message}};
  }
  return object;
}

json::object timeline_to_json(const RunRow& row, const RunTimeline& timeline,
                              const std::string& run_root,
                              const std::function<std::string(ArtifactPlace&)>& path_of) {
  json::object object = row_to_json(row);
  object["goal"] = timeline.started.goal;
  object["run_root"] = run_root;
  add_text(object, "idempotency_key", timeline.started.idempotency_key);
  add_text(object, "repository", timeline.started.repository);
  add_text(object, "base", timeline.started.base);
  if (timeline.mocked != Mocked::nothing) object["mock"] = to_json(timeline.mocked);
  add_text(object, "not_retried", timeline.not_retried);
  object["actor"] = timeline.actor;
  object["budget"] = to_json(timeline.budget);
  object["used"] = to_json(timeline.used);
  if (timeline.max_retries) object["max_retries"] = *timeline.max_retries;
  if (!timeline.retries.empty()) {
    json::array retries;
    for (const TimelineRetry& retry : timeline.retries) {
      retries.push_back({{"at", format_time(retry.at_ns)},
                         {"position", retry.position},
                         {"actor", retry.actor},
                         {"reason", retry.reason},
                         {"station", retry.station},
                         {"strategy", to_json(retry.strategy)}});
    }
    object["retries"] = std::move(retries);
  }
  if (timeline.cancel) {
    object["cancel"] = {{"actor", timeline.cancel->actor},
                        {"reason", timeline.cancel->reason},
                        {"confirmed", timeline.cancel->confirmed},
                        {"escaped_pids", to_json(timeline.cancel->escaped_pids)}};
    add_time(object["cancel"].as_object(), "requested_at", timeline.cancel->requested_at_ns);
  }
  if (!timeline.started.input.empty()) {
    json::error_code error;
    json::value input = json::parse(timeline.started.input, error);
    if (!error) object["input"] = std::move(input);
  }
  const CurrentArtifacts current = current_artifacts(timeline);
  json::array stations;
  for (const TimelineStation& station : timeline.stations) {
    stations.push_back(station_to_json(station, current, path_of));
  }
  object["stations"] = std::move(stations);
  return object;
}

}  // namespace signalbox
