#include "server/executors/remote/remote_result.h"

#include <boost/describe/enum_to_string.hpp>
#include <boost/json/serialize.hpp>

#include "domain/limits.h"
#include "domain/refusals.h"
#include "domain/try.h"
#include "server/executors/artifact_collection.h"
#include "server/executors/declared_result.h"
#include "server/executors/remote/remote_endpoint.h"
#include "server/text/described_json.h"
#include "server/text/json_text.h"
#include "server/text/utf8_text.h"
#include "store/base64.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr const char* remote_logs_name = "runner_logs_excerpt";
constexpr const char* unconfirmed_code = "CANCEL_UNCONFIRMED";

struct RemoteArtifact {
  std::string name;
  std::optional<std::string> media_type;
  std::optional<std::string> text;
  std::optional<std::string> base64;
};
BOOST_DESCRIBE_STRUCT(RemoteArtifact, (), (name, media_type, text, base64))

// The fields that a remote result has in addition to those of result.json.
struct RemoteExtras {
  std::optional<std::string> logs;
  std::vector<RemoteArtifact> artifacts;
};
BOOST_DESCRIBE_STRUCT(RemoteExtras, (), (logs, artifacts))

struct RemoteResult {
  DeclaredResult declared;
  RemoteExtras extras;
};

Decided<RemoteResult> parse(const std::string& text) {
  auto value = parse_bounded_json(text, remote_answer_values_max);
  if (!value) return tl::unexpected(value.error());
  json::object* object = value->if_object();
  if (object == nullptr) return reject(ErrorCode::INVALID_PARAMS, "it must be an object");
  json::object extras;
  for (const char* name : {"logs", "artifacts"}) {
    if (json::value* given = object->if_contains(name)) extras[name] = std::move(*given);
    object->erase(name);
  }
  object->erase("schema");
  auto read = TRY(from_json<RemoteExtras>(extras));
  auto declared = TRY(declared_result_from(std::move(*value)));
  return RemoteResult{std::move(declared), std::move(read)};
}

JobResult invalid(const std::string& why) {
  JobResult result;
  result.failure = {
      Outcome::failed, ErrorClass::terminal, "RESULT_INVALID",
      shortened("the endpoint's result is invalid: " + why, limits::reason_bytes_max)};
  return result;
}

std::string excerpt_of(const std::string& logs) {
  if (logs.size() <= limits::logs_inline_bytes_max) return logs;
  constexpr std::size_t note_bytes = 256;
  const std::size_t part = (limits::logs_inline_bytes_max - note_bytes) / 2;
  const std::string_view head = utf8_prefix(logs, part);
  const std::string_view tail = utf8_suffix(logs, part);
  return "[cut to fit into " + std::to_string(limits::logs_inline_bytes_max) +
         " bytes; the original is " + std::to_string(logs.size()) + " bytes]\n" +
         std::string(head) + "\n[cut: the first " + std::to_string(head.size()) + " and the last " +
         std::to_string(tail.size()) + " bytes are shown]\n" + std::string(tail);
}

// Stores the artifacts that the job sent and appends them. Stops at the first invalid one and
// returns what is wrong with it; an empty string if all are valid.
Stored<std::string> store_artifacts(const std::vector<RemoteArtifact>& given, ArtifactStore& store,
                                    std::vector<Artifact>& artifacts) {
  if (given.size() > limits::artifacts_max - 2) return "it has too many artifacts";
  for (const RemoteArtifact& each : given) {
    if (each.name.empty() || each.name.size() > limits::name_bytes_max) {
      return "an artifact has no name, or too long a one";
    }
    if (!is_artifact_name(each.name)) {
      return "artifact " + each.name + " has a name with NUL, or with a part \".\" or \"..\"";
    }
    if (each.text.has_value() == each.base64.has_value()) {
      return "artifact " + each.name + " must have either text or base64";
    }
    const auto content = each.text ? each.text : from_base64(*each.base64);
    if (!content) return "artifact " + each.name + " isn't base64";
    const std::string media_type = each.media_type.value_or(media_type_of(each.name));
    if (media_type.size() > limits::name_bytes_max) {
      return "artifact " + each.name + " has too long a media_type";
    }
    if (media_type == bundle_media_type) {
      return "artifact " + each.name + " has a media_type that is reserved: " + media_type;
    }
    if (each.name == bundle_name) return "artifact " + each.name + " has a name that is reserved";
    auto stored = TRY(store.put(each.name, media_type, *content));
    artifacts.push_back(std::move(stored));
  }
  return std::string();
}

Failure failure_of(const DeclaredResult& declared) {
  const bool timeout = declared.outcome == Outcome::timeout;
  return {declared.outcome,
          declared.error_class.value_or(timeout ? ErrorClass::transient : ErrorClass::terminal),
          declared.error_code.value_or(timeout ? "TIMEOUT" : "REMOTE_FAILED"),
          shortened(declared.error_message.value_or("the remote job failed"),
                    limits::reason_bytes_max)};
}

}  // namespace

Stored<JobResult> report_remote_job(const Job& job, const std::string& call_id,
                                    const std::string& text, ArtifactStore& store) {
  const auto parsed = parse(text);
  JobResult report;
  if (!parsed) {
    report = invalid(parsed.error().message);
  } else {
    report.outcome = parsed->declared.outcome;
    if (report.outcome != Outcome::succeeded) report.failure = failure_of(parsed->declared);
    report.usage = parsed->declared.used();
    report.quota_reset_at_ns = parsed->declared.quota_reset_at_ns();
    report.canceled = report.outcome == Outcome::canceled;
    report.cancel_unconfirmed = report.failure.code == unconfirmed_code;
    const auto problem =
        TRY(store_artifacts(parsed->extras.artifacts, store, report.result.artifacts));
    if (!problem.empty()) {
      JobResult refused = invalid(problem);
      refused.usage = report.usage;  // whatever the result is worth, it was paid for
      refused.canceled = report.canceled;
      refused.cancel_unconfirmed = report.cancel_unconfirmed;
      report = std::move(refused);
    }
  }
  const bool valid = parsed && report.failure.code != "RESULT_INVALID";
  std::string summary_text = valid ? parsed->declared.summary.value_or("") : "";
  if (summary_text.empty()) {
    summary_text = job.definition.name + " " +
                   boost::describe::enum_to_string(report.outcome, "ended") + " at " +
                   job.definition.modal->endpoint + ".";
    if (report.outcome != Outcome::succeeded) {
      summary_text += "\n" + report.failure.code + ": " + report.failure.message;
    }
  }
  report.result.logs_inline =
      excerpt_of(valid ? parsed->extras.logs.value_or("") : with_replacements(text));
  auto summary =
      TRY(store.put(job.definition.name + "_summary", "text/markdown", summary_text + "\n"));
  auto logs = TRY(store.put(remote_logs_name, "text/plain", report.result.logs_inline));
  report.result.artifacts.push_back(std::move(summary));
  report.result.artifacts.push_back(std::move(logs));
  report.result.summary = shortened(summary_text, limits::summary_bytes_max);
  report.result.external_ref = call_id;
  if (valid) report.result.metadata = parsed->declared.metadata.value_or("");
  return report;
}

std::string canceled_remote_result(const std::string& call_id, bool unconfirmed) {
  json::object result;
  result["outcome"] = "canceled";
  result["error_code"] = unconfirmed ? unconfirmed_code : "CANCELED";
  result["error_message"] = unconfirmed ? "the endpoint couldn't be made to say that call " +
                                              call_id + " is gone; it may still run there"
                                        : "canceled";
  return json::serialize(result);
}

// Returns a result of class config, whatever the refusal's class: the job may still run there, so
// no other attempt may begin beside it.
std::string refused_remote_result(const ExecutorError& refusal) {
  json::object result;
  result["outcome"] = "failed";
  result["error_class"] = "config";
  result["error_code"] = refusal.code;
  result["error_message"] = shortened(
      "the endpoint refused every question about the job for too long, so it may still "
      "run there: " +
          refusal.message,
      limits::reason_bytes_max);
  return json::serialize(result);
}

}  // namespace signalbox
