#include "tools/audit/service_redaction.h"

#include <chrono>
#include <cstring>
#include <utility>

#include <boost/describe/enum_from_string.hpp>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

#include "domain/try.h"
#include "server/platform/call_bounds.h"
#include "server/platform/child_process.h"
#include "tools/audit/redaction_plan.h"
#include "tools/cli/client.h"
#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// It folds the whole log.
constexpr std::int64_t proof_ms_max = 3'600'000;
constexpr std::int64_t proof_poll_ms = 200;
constexpr std::int64_t proof_end_grace_ms = 1000;
constexpr std::size_t proof_output_bytes_max = 1024 * 1024;
constexpr std::size_t proof_message_bytes_max = 512;
constexpr std::chrono::milliseconds status_timeout{10'000};

Detail detail_of(std::string_view key, const json::value& value) {
  Detail detail{std::string(key), {}};
  if (const auto* text = value.if_string()) {
    detail.value = std::string(*text);
  } else if (const auto* number = value.if_int64()) {
    detail.value = *number;
  } else if (const auto* large = value.if_uint64()) {
    detail.value = static_cast<std::int64_t>(*large);
  } else if (const auto* flag = value.if_bool()) {
    detail.value = *flag;
  } else if (const auto* array = value.if_array()) {
    std::vector<std::string> words;
    for (const json::value& each : *array) {
      if (each.is_string()) words.emplace_back(each.get_string());
    }
    detail.value = std::move(words);
  }
  return detail;
}

// Returns the error of a command as the service rejects its request with it.
Rejection rejection_of(const CallError& error) {
  Rejection rejection;
  rejection.message = message_of(error);
  rejection.next_commands = next_commands_of(error);
  const std::string code = code_of(error);
  if (!boost::describe::enum_from_string(code.c_str(), rejection.code)) {
    const bool is_usage = code == "USAGE";
    rejection.code = is_usage ? ErrorCode::INVALID_PARAMS : ErrorCode::INTERNAL;
    if (is_usage) rejection.details.push_back({"field", std::string("fields")});
  }
  const json::value* const data = error.error.if_contains("data");
  const json::object* const data_object = data == nullptr ? nullptr : data->if_object();
  const json::value* const details =
      data_object == nullptr ? nullptr : data_object->if_contains("details");
  if (details == nullptr || !details->is_object()) return rejection;
  for (const auto& each : details->get_object()) {
    rejection.details.push_back(detail_of(each.key(), each.value()));
  }
  return rejection;
}

Rejection proof_failed(ErrorCode code, const std::string& why) {
  return {code,
          "nothing was redacted, because it couldn't be proved that the log still folds: " + why,
          {},
          {"signalbox status"}};
}

std::vector<std::string> proof_words(const fs::path& data, const RedactionRequest& request) {
  // This very program, even if its file was replaced since.
  std::vector<std::string> words{
      "/proc/self/exe", "audit",  "redact", std::to_string(request.position),
      "--reason",
      "proof",  // other users can read arguments
      "--dry-run",      "--json", "--data", data.string()};
  for (const std::string& field : request.fields) words.insert(words.end(), {"--field", field});
  return words;
}

// Reads what `audit redact --dry-run --json` printed.
Decided<void> read_proof(const ChildProcess& child, const std::string& output,
                         const std::string& messages) {
  json::error_code failed;
  const json::value printed = json::parse(output, failed);
  const json::object* const object = failed ? nullptr : printed.if_object();
  if (object != nullptr && child.exit_code() == 0 && object->contains("ok")) return {};
  const json::value* const error = object == nullptr ? nullptr : object->if_contains("error");
  if (error != nullptr && error->is_object()) {
    return tl::unexpected(rejection_of(refused_by_server(error->get_object())));
  }
  const std::string how = child.signal()
                              ? "signal " + std::to_string(*child.signal())
                              : "exit code " + std::to_string(child.exit_code().value_or(-1));
  return tl::unexpected(
      proof_failed(ErrorCode::INTERNAL, "its process ended with " + how + " " + messages));
}

Decided<void> prove_in_process(const fs::path& data, const RedactionRequest& request,
                               const std::atomic<bool>& stopped) {
  BoundedOutput output(proof_output_bytes_max, 0);
  BoundedOutput messages(proof_message_bytes_max, 0);
  ChildProcess::Settings settings;
  settings.argv = proof_words(data, request);
  settings.stdout_sink = output.sink();
  settings.stderr_sink = messages.sink();
  auto child = ChildProcess::start(std::move(settings));
  if (!child) {
    const bool is_shortage = is_transient_start_error(child.error());
    return tl::unexpected(
        proof_failed(is_shortage ? ErrorCode::OVERLOADED : ErrorCode::INTERNAL,
                     std::string("its process can't be started: ") + std::strerror(child.error())));
  }
  const std::int64_t deadline_ms = ChildProcess::now_ms() + proof_ms_max;
  while (!child->await_end(ChildProcess::now_ms() + proof_poll_ms)) {
    const bool is_canceled = stopped || CallBounds::is_canceled();
    if (!is_canceled && ChildProcess::now_ms() < deadline_ms) continue;
    child->end(proof_end_grace_ms);
    return tl::unexpected(is_canceled ? proof_failed(ErrorCode::SHUTTING_DOWN, "the service stops")
                                      : proof_failed(ErrorCode::OVERLOADED, "it took too long"));
  }
  return read_proof(*child, output.head(), messages.head());
}

Decided<PlannedRedaction> plan_in_service(const RocksEventLog& log, const fs::path& data,
                                          const RedactionRequest& request,
                                          const std::atomic<bool>& stopped) {
  std::string while_stopped = "signalbox audit redact " + std::to_string(request.position) +
                              " --reason " + for_the_shell(request.reason);
  for (const std::string& field : request.fields) {
    while_stopped += " --field " + for_the_shell(field);
  }
  while_stopped += " --data " + for_the_shell(data.string());
  auto made = plan_living_redaction(log, request.position, request.fields, while_stopped);
  if (!made) return tl::unexpected(rejection_of(made.error()));
  PlannedRedaction planned;
  planned.event.redacted_position = request.position;
  planned.event.event = tag_of(made->record.event).name;
  planned.event.fields = made->fields;
  planned.event.reason = request.reason;
  planned.redacted_at = made->redacted_at;
  if (made->fields.empty()) return planned;
  TRY(prove_in_process(data, request, stopped));
  planned.replacement = std::move(made->replacement);
  planned.erased = std::move(made->erased);
  return planned;
}

}  // namespace

Redactions::Plan plan_redaction_in_service() { return plan_in_service; }

Called<std::optional<ServerAddress>> service_of(const Invocation& invocation) {
  ServerAddress address(invocation.socket_path());
  auto given = invocation.server_address();
  if (given && given->is_unix()) address = *std::move(given);
  auto client = Client::connect(address, status_timeout);
  if (!client && client.error().exit_code == ExitCode::unreachable) return std::nullopt;
  if (!client) return tl::unexpected(std::move(client.error()));
  const auto status = client->call("server.status", {});
  if (!status && status.error().exit_code == ExitCode::unreachable) return std::nullopt;
  if (!status) return tl::unexpected(status.error());
  std::error_code unknown;
  const fs::path served = text_at(*status, "data_directory");
  if (!fs::equivalent(served, invocation.data_directory(), unknown)) return std::nullopt;
  return address;
}

}  // namespace signalbox
