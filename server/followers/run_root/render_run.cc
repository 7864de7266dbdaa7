#include "server/followers/run_root/render_run.h"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "server/text/described_json.h"
#include "server/text/time_text.h"
#include "store/sha256.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// Returns the value of JSON that is stored as text; null if it is empty or can't be parsed.
json::value stored_value(const std::string& text) {
  json::error_code error;
  json::value value = json::parse(text.empty() ? "null" : text, error);
  return error ? json::value(nullptr) : value;
}

class RunRendering {
 public:
  RunRendering(const RunTimeline& timeline, const PipelineDefinition& pipeline,
               const std::string& root)
      : timeline_(timeline), pipeline_(pipeline), root_(root) {}

  std::vector<FileChange> render() && {
    add(run_root_path::run_config, config());
    json::array stations;
    for (const TimelineStation& station : timeline_.stations) stations.push_back(describe(station));
    json::object manifest = head("run_manifest.v1");
    manifest["status"] = to_json(timeline_.status);
    manifest["position"] = timeline_.last_position;
    manifest["started_at"] = format_time(timeline_.started_at_ns);
    manifest["ended_at"] = time_or_null(timeline_.ended_at_ns);
    manifest["pipeline"] = {{"name", timeline_.pipeline},
                            {"sha256", to_hex(timeline_.started.pipeline_digest)}};
    manifest["error"] = timeline_.failure ? to_json(*timeline_.failure) : json::value(nullptr);
    manifest["stations"] = std::move(stations);
    manifest["files"] = std::move(files_);
    files_ = {};
    add(run_root_path::manifest, std::move(manifest));
    return std::move(changes_);
  }

 private:
  json::object head(const char* schema) const {
    json::object object;
    object["schema_version"] = schema;
    object["run_id"] = to_string(timeline_.run_id);
    return object;
  }

  void add(const std::string& path, json::object object) {
    std::string text = json::serialize(object) + "\n";
    files_.push_back({{"path", path}, {"bytes", text.size()}, {"sha256", to_hex(sha256(text))}});
    changes_.push_back(
        {root_, path, FileChange::Kind::write, std::move(text), timeline_.last_position});
  }

  json::object config() const {
    const RunStarted& started = timeline_.started;
    json::object object = head("run_config.v1");
    object["goal"] = started.goal;
    object["input"] = stored_value(started.input);
    object["project"] = started.project;
    object["labels"] = to_json(started.labels);
    object["repository"] = started.repository;
    object["base"] = started.base;
    object["run_root"] = root_;
    object["idempotency_key"] = started.idempotency_key;
    object["started_at"] = format_time(timeline_.started_at_ns);
    object["started_position"] = timeline_.started_position;
    object["actor"] = timeline_.actor;
    object["pipeline_sha256"] = to_hex(started.pipeline_digest);
    object["pipeline"] = to_json(pipeline_);
    return object;
  }

  json::object attempt_head(const char* schema, const TimelineStation& station,
                            const TimelineAttempt& attempt) const {
    json::object object = head(schema);
    object["station"] = station.name;
    object["attempt"] = attempt.number;
    object["strategy"] = to_json(attempt.strategy);
    object["worker"] = attempt.worker;
    object["token"] = attempt.token;
    object["span_id"] = to_string(attempt.span_id);
    object["started_at"] = format_time(attempt.started_at_ns);
    return object;
  }

  static json::value failure_of(const TimelineAttempt& attempt) {
    return attempt.failure ? to_json(*attempt.failure) : json::value(nullptr);
  }

  static json::value outcome_of(const TimelineAttempt& attempt) {
    if (attempt.deferred) return "deferred";
    return attempt.outcome ? to_json(*attempt.outcome) : json::value(nullptr);
  }

  json::object prompt(const TimelineStation& station, const TimelineAttempt& attempt,
                      const TimelineAttempt* previous) const {
    json::object object = attempt_head("attempt_prompt.v1", station, attempt);
    object["goal"] = timeline_.started.goal;
    object["input"] = stored_value(timeline_.started.input);
    if (previous == nullptr) {
      object["previous"] = nullptr;
    } else {
      object["previous"] = {{"attempt", previous->number},
                            {"outcome", outcome_of(*previous)},
                            {"error", failure_of(*previous)},
                            {"note", previous->deferred_note}};
    }
    return object;
  }

  json::object output(const TimelineStation& station, const TimelineAttempt& attempt) const {
    json::object object = attempt_head("attempt_output.v1", station, attempt);
    object["ended_at"] = format_time(attempt.ended_at_ns);
    object["outcome"] = outcome_of(attempt);
    object["error"] = failure_of(attempt);
    object["job_id"] = attempt.job_id;
    object["external_ref"] = attempt.result.external_ref;
    object["summary"] = attempt.result.summary;
    object["logs_inline"] = attempt.result.logs_inline;
    object["note"] = attempt.deferred_note;
    object["metadata"] = stored_value(attempt.result.metadata);
    object["artifacts"] = to_json(attempt.result.artifacts);
    return object;
  }

  // Adds the attempt's own files and returns its entry in the manifest.
  json::object describe(const TimelineStation& station, const TimelineAttempt& attempt,
                        const TimelineAttempt* previous) {
    const std::string name = station.name + "-" + std::to_string(attempt.number) + ".json";
    json::object object;
    object["attempt"] = attempt.number;
    object["strategy"] = to_json(attempt.strategy);
    object["token"] = attempt.token;
    object["span_id"] = to_string(attempt.span_id);
    object["started_at"] = format_time(attempt.started_at_ns);
    object["ended_at"] = time_or_null(attempt.ended_at_ns);
    object["outcome"] = outcome_of(attempt);
    object["prompt"] = "prompts/" + name;
    add("prompts/" + name, prompt(station, attempt, previous));
    object["output"] = nullptr;
    if (attempt.ended_at_ns != 0) {
      object["output"] = "outputs/" + name;
      add("outputs/" + name, output(station, attempt));
    }
    object["artifacts"] = to_json(attempt.result.artifacts);
    return object;
  }

  json::object describe(const TimelineStation& station) {
    json::object object;
    object["station"] = station.name;
    object["executor"] = to_json(station.executor);
    object["status"] = to_json(station.status);
    json::array attempts;
    const TimelineAttempt* previous = nullptr;
    for (const TimelineAttempt& attempt : station.attempts) {
      attempts.push_back(describe(station, attempt, previous));
      previous = &attempt;
    }
    object["attempts"] = std::move(attempts);
    return object;
  }

  const RunTimeline& timeline_;
  const PipelineDefinition& pipeline_;
  const std::string& root_;
  json::array files_;
  std::vector<FileChange> changes_;
};

struct IsMoment {
  bool operator()(const RunStarted&) const { return true; }
  bool operator()(const RunSucceeded&) const { return true; }
  bool operator()(const RunFailed&) const { return true; }
  bool operator()(const RunCanceled&) const { return true; }
  bool operator()(const RunRetried&) const { return true; }
  bool operator()(const StationSubmitIntended&) const { return true; }
  bool operator()(const StationSucceeded&) const { return true; }
  bool operator()(const StationAttemptFailed&) const { return true; }
  bool operator()(const StationFailed&) const { return true; }
  bool operator()(const StationTimedOut&) const { return true; }
  bool operator()(const StationDeferred&) const { return true; }
  bool operator()(const StationResultHeld&) const { return true; }
  bool operator()(const WatchdogTimedOut&) const { return true; }
  template <class Other>
  bool operator()(const Other&) const {
    return false;
  }
};

}  // namespace

bool is_manifest_moment(const Event& event) { return apply(IsMoment{}, event); }

RunId timed_out_run(const Record& record) {
  if (event_as<WatchdogTimedOut>(record.event) != nullptr) return record.stream.run_id;
  const auto* tick = event_as<TickTimedOut>(record.event);
  return tick == nullptr ? RunId{} : tick->run_id;
}

std::vector<FileChange> render_run(std::span<const Record> records,
                                   const PipelineDefinition& pipeline, const std::string& root) {
  while (!records.empty() && !is_manifest_moment(records.back().event)) {
    records = records.first(records.size() - 1);
  }
  if (records.empty()) return {};
  const RunTimeline timeline = fold_timeline(records, pipeline);
  return RunRendering(timeline, pipeline, root).render();
}

}  // namespace signalbox
