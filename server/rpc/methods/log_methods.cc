// `log.*`: what is done to the log itself, not to what it records.
#include "domain/limits.h"
#include "domain/refusals.h"
#include "server/rpc/command_call.h"
#include "server/rpc/methods/families.h"
#include "server/scheduler/redactions.h"

namespace signalbox {
namespace {

namespace json = boost::json;

json::object redaction_result(const PayloadRedacted& event, Position redaction_position) {
  json::object result;
  result["redacted_position"] = event.redacted_position;
  result["type"] = event.event;
  result["fields"] = json::array(event.fields.begin(), event.fields.end());
  result["redacted"] = !event.fields.empty();
  if (redaction_position != 0) result["redaction_position"] = redaction_position;
  return result;
}

json::object repeated_redaction_result(const Api&, std::span<const Record> records) {
  for (const Record& record : records) {
    if (const auto* event = event_as<PayloadRedacted>(record.event)) {
      return redaction_result(*event, record.position);
    }
  }
  return {};
}

void answer_redaction(const Responder& responder, const Decided<RedactionOutcome>& outcome) {
  if (!outcome) return responder.reject(outcome.error());
  const PlannedRedaction& plan = outcome->plan;
  const bool is_new = outcome->redacted_at != 0;
  json::object result =
      redaction_result(plan.event, is_new ? outcome->redacted_at : plan.redacted_at);
  if (!outcome->erasure_error.empty()) result["files_error"] = outcome->erasure_error;
  if (!outcome->unerased_servers.empty()) {
    result["unerased_servers"] =
        json::array(outcome->unerased_servers.begin(), outcome->unerased_servers.end());
  }
  if (!outcome->shared_log_error.empty()) result["shared_log_error"] = outcome->shared_log_error;
  // The redaction is durable already. If what was recorded since is rolled back on a full disk, the
  // answer mustn't say that it was refused.
  Responder durable = responder;
  durable.when_rolled_back([responder, result] { responder.result(result); });
  durable.result(std::move(result));
}

void redact_record(Api& api, Call& call, Redactions& redactions) {
  auto request = from_json<RedactionRequest>(call.params);
  if (!request) return call.responder.reject(request.error());
  const auto reason = require_name("reason", request->reason, limits::reason_bytes_max);
  if (!reason) return call.responder.reject(reason.error());
  // Each answer promises that the files are rewritten, so a repeated command isn't answered before
  // the first one: it is OVERLOADED meanwhile. If the first one couldn't finish the files, the
  // repeated one does.
  const bool is_finished = !redactions.is_redacting() && !redactions.unfinished();
  if (is_finished && answered_before(api, call, repeated_redaction_result)) return;
  redactions.redact(call.origin, *std::move(request),
                    [responder = call.responder](const Decided<RedactionOutcome>& outcome) {
                      answer_redaction(responder, outcome);
                    });
}

}  // namespace

Handler redact_records(Redactions& redactions) { return with(redactions, redact_record); }

void refuse_redaction(Api&, Call& call) {
  const auto request = from_json<RedactionRequest>(call.params);
  if (!request) return call.responder.reject(request.error());
  call.responder.reject({ErrorCode::INTERNAL, "nothing is redacted here", {}, {}});
}

std::vector<Method> log_methods(Handler redact) {
  return {
      {"log.redact", true, Role::admin, params_of<RedactionRequest>(), std::move(redact)},
  };
}

}  // namespace signalbox
