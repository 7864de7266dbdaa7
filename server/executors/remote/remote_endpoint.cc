#include "server/executors/remote/remote_endpoint.h"

#include <boost/json/serialize.hpp>

#include "domain/limits.h"
#include "domain/try.h"
#include "server/executors/coderunner/agent_prompt.h"
#include "server/text/described_json.h"
#include "server/text/json_text.h"
#include "server/text/percent_coding.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

std::string value_of(const std::vector<std::string>& environment, const std::string& name) {
  for (const std::string& entry : environment) {
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  }
  return {};
}

tl::unexpected<ExecutorError> config_missing(const std::string& name) {
  return tl::unexpected(
      ExecutorError{ErrorClass::config, "CONFIG_MISSING",
                    name + " isn't set in the environment of the server; a remote job needs it"});
}

tl::unexpected<RemoteError> refused(ErrorClass error_class, std::string code, std::string message,
                                    const HttpResponse& response) {
  return tl::unexpected(
      RemoteError{{error_class, std::move(code),
                   shortened(message + " (HTTP " + std::to_string(response.status) + ")",
                             limits::reason_bytes_max)},
                  response.retry_after_ms,
                  true});
}

// Returns the error for a response that the caller doesn't expect.
tl::unexpected<RemoteError> unexpected_answer(const HttpResponse& response) {
  const long status = response.status;
  if (status == 401) {
    return refused(ErrorClass::config, "REMOTE_UNAUTHENTICATED",
                   "the endpoint doesn't know MODAL_TOKEN_ID and MODAL_TOKEN_SECRET", response);
  }
  if (status == 403) {
    return refused(ErrorClass::config, "REMOTE_FORBIDDEN",
                   "the endpoint doesn't allow this to MODAL_TOKEN_ID", response);
  }
  if (status == 429) {
    return refused(ErrorClass::transient, "REMOTE_BUSY", "the endpoint asks for patience",
                   response);
  }
  if (status >= 500) {
    return refused(ErrorClass::transient, "REMOTE_ERROR", "the endpoint fails", response);
  }
  return refused(ErrorClass::terminal, "REMOTE_REFUSED",
                 "the endpoint refuses the request: " + with_replacements(response.body), response);
}

bool is_success(long status) { return status >= 200 && status < 300; }

std::string task_of(const Job& job) {
  json::object task;
  task["schema"] = "remote_job.v1";
  task["id"] = job.id;
  task["run_id"] = to_string(job.run_id);
  task["station"] = job.definition.name;
  task["attempt"] = job.attempt;
  task["strategy"] = to_json(job.strategy);
  task["span_id"] = to_string(job.span_id);
  task["timeout_ms"] = job.definition.timeout_ms;
  task["goal"] = job.goal;
  task["input"] = nullptr;
  if (auto input = parse_json(job.input)) task["input"] = std::move(*input);
  task["previous"] = job.previous;
  task["resume_ref"] = job.resume_ref;
  task["repository"] = job.repository;
  task["base"] = job.base;
  task["budget"] = to_json(job.budget_left);
  if (job.definition.coderunner) {
    CoderunnerDefinition filled = *job.definition.coderunner;
    filled.prompt = agent_prompt(job);
    task["coderunner"] = to_json(filled);
  }
  return json::serialize(task);
}

Remote<std::string> call_id_in(const HttpResponse& response) {
  const auto value = parse_bounded_json(response.body, remote_answer_values_max);
  const json::object* object = value ? value->if_object() : nullptr;
  const json::value* call_id = object != nullptr ? object->if_contains("call_id") : nullptr;
  const json::string* text = call_id != nullptr ? call_id->if_string() : nullptr;
  if (text != nullptr && !text->empty() && text->size() <= limits::path_bytes_max) {
    return std::string(*text);
  }
  return refused(ErrorClass::transient, "REMOTE_ANSWER_INVALID",
                 "the endpoint's answer has no call_id", response);
}

std::string call_url(const Job& job, const std::string& call_id) {
  return job.definition.modal->endpoint + "/" + percent_encoded(call_id);
}

}  // namespace

RemoteEndpoint::RemoteEndpoint(const std::vector<std::string>& environment, HttpTimeouts times)
    : token_id_(value_of(environment, "MODAL_TOKEN_ID")),
      token_secret_(value_of(environment, "MODAL_TOKEN_SECRET")),
      ca_file_(value_of(environment, "SSL_CERT_FILE")),
      times_(times) {}

Executed<void> RemoteEndpoint::configured() const {
  if (token_id_.empty()) return config_missing("MODAL_TOKEN_ID");
  if (token_secret_.empty()) return config_missing("MODAL_TOKEN_SECRET");
  return {};
}

OutgoingRequest RemoteEndpoint::request(const Job& job, std::string method, std::string url) const {
  return {std::move(method),
          std::move(url),
          {{"Modal-Key", token_id_},
           {"Modal-Secret", token_secret_},
           {"Idempotency-Key", job.id},
           {"Content-Type", "application/json"},
           {"Accept", "application/json"}},
          {},
          ca_file_};
}

Remote<HttpResponse> RemoteEndpoint::send(const OutgoingRequest& request) const {
  auto response = signalbox::send(request, times_);
  if (response) return std::move(*response);
  return tl::unexpected(RemoteError{{ErrorClass::transient, "REMOTE_UNREACHABLE",
                                     shortened(response.error().message, limits::reason_bytes_max)},
                                    {},
                                    response.error().may_have_arrived});
}

Remote<std::string> RemoteEndpoint::submit(const Job& job) const {
  OutgoingRequest post = request(job, "POST", job.definition.modal->endpoint);
  post.body = task_of(job);
  const auto response = TRY(send(post));
  if (is_success(response.status)) return call_id_in(response);
  if (response.status == 404 || response.status == 410) {
    return refused(ErrorClass::config, "REMOTE_NOT_FOUND",
                   "there is no job endpoint at modal.endpoint", response);
  }
  return unexpected_answer(response);
}

Remote<std::optional<std::string>> RemoteEndpoint::find_call(const Job& job) const {
  const auto response = TRY(
      send(request(job, "GET", job.definition.modal->endpoint + "?id=" + percent_encoded(job.id))));
  if (is_success(response.status)) {
    return TRY(call_id_in(response));
  }
  switch (response.status) {
    case 404:
    case 405:
    case 410:
    case 501:
      return std::nullopt;
    default:
      return unexpected_answer(response);
  }
}

Remote<RemoteState> RemoteEndpoint::ask(const Job& job, const std::string& call_id) const {
  auto response = TRY(send(request(job, "GET", call_url(job, call_id))));
  switch (response.status) {
    case 200:
      return RemoteState{RemoteState::Kind::finished, std::move(response.body)};
    case 202:
      return RemoteState{};
    case 404:
    case 410:
      return RemoteState{RemoteState::Kind::gone, {}};
    default:
      return unexpected_answer(response);
  }
}

Remote<bool> RemoteEndpoint::cancel(const Job& job, const std::string& call_id) const {
  const auto response = TRY(send(request(job, "DELETE", call_url(job, call_id))));
  if (is_success(response.status)) return true;
  if (response.status == 404 || response.status == 410) return false;
  return unexpected_answer(response);
}

}  // namespace signalbox
