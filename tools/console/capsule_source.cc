#include "tools/console/capsule_source.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

#include "domain/try.h"
#include "projections/run_trace.h"
#include "server/rpc/methods/trace_json.h"
#include "server/rpc/page_limit.h"
#include "server/rpc/record_json.h"
#include "server/text/described_json.h"
#include "server/transport/http/problem.h"
#include "tools/audit/audit_keys.h"
#include "tools/audit/capsule_replay.h"
#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct CapsuleRun {
  RunId run_id{};
};
BOOST_DESCRIBE_STRUCT(CapsuleRun, (), (run_id))

struct CapsuleEvents {
  std::optional<RunId> run_id;
  std::optional<Position> from;
  std::optional<std::uint64_t> limit;
};
BOOST_DESCRIBE_STRUCT(CapsuleEvents, (), (run_id, from, limit))

tl::unexpected<Rejection> not_in_capsule(const std::string& what) {
  return reject(ErrorCode::NOT_ALLOWED, what + " isn't in the capsule of a run", {},
                {"signalbox console"});
}

Decided<void> require_run(const RunId& asked, const RunId& there) {
  if (asked == there) return {};
  return reject(ErrorCode::RUN_NOT_FOUND,
                "the capsule is of run " + to_string(there) + ", not of " + to_string(asked),
                {{"run_id", to_string(asked)}}, {});
}

// Returns the digest of the run's current artifact of this name, in hexadecimal; or "".
std::string digest_of_artifact(const json::object& run, const std::string& name) {
  for (const json::value& station : array_at(run, "stations")) {
    for (const json::value& attempt : array_at(station.as_object(), "attempts")) {
      for (const json::value& each : array_at(attempt.as_object(), "artifacts")) {
        const json::object& artifact = each.as_object();
        if (text_at(artifact, "name") == name && true_at(artifact, "current")) {
          return text_at(artifact, "sha256");
        }
      }
    }
  }
  return {};
}

WholeTrace trace_of(const Capsule& capsule) {
  RunTrace trace(std::make_shared<const PipelineDefinition>(capsule.pipeline), std::nullopt);
  WholeTrace whole;
  for (const Record& record : capsule.records) trace.apply(record, whole.ended);
  whole.open = trace.open();
  return whole;
}

}  // namespace

CapsuleSource::CapsuleSource(std::filesystem::path file, std::vector<NoteVerifier> trusted,
                             Capsule capsule, json::object run)
    : file_(std::move(file)),
      trusted_(std::move(trusted)),
      capsule_(std::move(capsule)),
      run_(std::move(run)),
      trace_(trace_of(capsule_)) {}

Called<std::unique_ptr<CapsuleSource>> CapsuleSource::open(const std::string& file,
                                                           const std::vector<std::string>& keys) {
  // It is read again for each artifact, which a pipe can't be, and a FIFO may have no writer.
  std::error_code unknown;
  const auto status = std::filesystem::status(file, unknown);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return tl::unexpected(usage_error(file + " is no regular file; copy the capsule into one"));
  }
  auto trusted = TRY(read_verifiers(keys));
  auto capsule = TRY(read_capsule(file, trusted, {}));
  auto run = TRY(capsule_run(capsule, ""));
  return std::unique_ptr<CapsuleSource>(
      new CapsuleSource(file, std::move(trusted), std::move(capsule), std::move(run)));
}

json::object CapsuleSource::identity() const {
  json::object result;
  result["actor"] = "the capsule of a run";
  result["role"] = "viewer";
  result["methods"] = json::array{"server.whoami", "run.get", "run.trace", "events.read"};
  result["capsule"] = json::object{
      {"run_id", to_string(capsule_.run_id)}, {"origin", capsule_.head.origin},
      {"size", capsule_.head.size},           {"records", capsule_.records.size()},
      {"artifacts", capsule_.artifacts},      {"signature_checked", capsule_.signature_checked}};
  return result;
}

Decided<json::object> CapsuleSource::events(const json::object& params) const {
  const auto asked = TRY(from_json<CapsuleEvents>(params));
  if (asked.run_id) {
    TRY(require_run(*asked.run_id, capsule_.run_id));
  }
  const std::uint64_t limit = asked.limit.value_or(events_read_rows_max);
  json::object result;
  json::array& shown = result["events"].emplace_array();
  bool more = false;
  for (const Record& record : capsule_.records) {
    if (record.position < asked.from.value_or(0)) continue;
    if (shown.size() >= limit) {
      more = true;
      break;
    }
    shown.push_back(record_to_json(record));
  }
  result["next_from"] = shown.empty()
                            ? json::value(asked.from.value_or(1))
                            : json::value(number_at(shown.back().as_object(), "position") + 1);
  result["more"] = more;
  return result;
}

Decided<json::object> CapsuleSource::result_of(const std::string& method,
                                               const json::object& params) const {
  if (method == "server.whoami") return identity();
  if (method == "events.read") return events(params);
  if (method != "run.get" && method != "run.trace") return not_in_capsule(method);
  const auto asked = TRY(from_json<CapsuleRun>(params));
  TRY(require_run(asked.run_id, capsule_.run_id));
  if (method == "run.get") return json::object{{"run", run_}};
  return trace_to_json(capsule_.run_id, trace_, capsule_.records.back().recorded_at_ns);
}

void CapsuleSource::answer_line(std::string_view line, const Unwanted& /*unwanted*/,
                                const AnsweredLine& answered) {
  answered(response(line));
}

std::string CapsuleSource::response(std::string_view line) const {
  json::error_code wrong;
  const json::value parsed = json::parse({line.data(), line.size()}, wrong);
  if (wrong || !parsed.is_object()) {
    return refusal_line({}, {ErrorCode::INVALID_REQUEST, "it isn't a request", {}, {}});
  }
  const json::object& request = parsed.as_object();
  auto result = result_of(text_at(request, "method"), object_at(request, "params"));
  if (!result) return refusal_line(request, result.error());
  (*result)["position"] = capsule_.records.back().position;
  return result_line(request, *std::move(result));
}

HttpAnswer CapsuleSource::artifact(const PathParams& params) {
  const std::string& name = params.at("name");
  const auto refuse = [&name](std::string why) {
    return problem({ErrorCode::ARTIFACT_NOT_FOUND, std::move(why), {{"name", name}}, {}});
  };
  if (params.at("run_id") != to_string(capsule_.run_id)) return refuse("it is of another run");
  const std::string digest = digest_of_artifact(run_, name);
  std::optional<std::string> content;
  const auto read = read_capsule(file_, trusted_,
                                 [&content, &digest](const CapsuleArtifact& each) -> Called<void> {
                                   if (to_hex(each.sha256) == digest) content = each.content;
                                   return {};
                                 });
  if (!read) return problem({ErrorCode::STORAGE_DAMAGED, message_of(read.error()), {}, {}});
  if (!content) return refuse("the capsule was written without this artifact");
  return artifact_answer(name, *std::move(content));
}

}  // namespace signalbox
