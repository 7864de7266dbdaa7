#include "tools/audit/service_redaction.h"

#include <atomic>
#include <chrono>
#include <utility>

#include "domain/try.h"
#include "server/rpc/error_json.h"
#include "server/rpc/own_answer.h"
#include "tools/audit/redaction_plan.h"
#include "tools/cli/client.h"
#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// It folds the whole log.
constexpr std::int64_t proof_ms_max = 3'600'000;
constexpr std::chrono::milliseconds status_timeout{10'000};

// Returns the error of a command as the service rejects its request with it.
Rejection rejection_of(const CallError& error) {
  return rejection_from_json(error.error, "fields");
}

std::vector<std::string> proof_words(const fs::path& data, const RedactionRequest& request) {
  std::vector<std::string> words{"audit",      "redact", std::to_string(request.position),
                                 "--reason",
                                 "proof",  // other users can read arguments
                                 "--dry-run",  "--json", "--data",
                                 data.string()};
  for (const std::string& field : request.fields) words.insert(words.end(), {"--field", field});
  return words;
}

Decided<void> prove_in_process(const fs::path& data, const RedactionRequest& request,
                               const std::atomic<bool>& stopped) {
  const OwnCommand proof{.words = proof_words(data, request),
                         .ms_max = proof_ms_max,
                         .is_stopped = [&stopped] { return stopped.load(); }};
  TRY(answer_of_own_command(
      proof, {"nothing was redacted, because it couldn't be proved that the log still folds: ",
              "fields",
              {"signalbox status"}}));
  return {};
}

Decided<PlannedRedaction> plan_in_service(const RocksEventLog& log, const fs::path& data,
                                          const RedactionRequest& request, bool may_renew_base,
                                          const std::atomic<bool>& stopped) {
  std::string while_stopped = "signalbox audit redact " + std::to_string(request.position) +
                              " --reason " + for_the_shell(request.reason);
  for (const std::string& field : request.fields) {
    while_stopped += " --field " + for_the_shell(field);
  }
  while_stopped += " --data " + for_the_shell(data.string());
  auto made = may_renew_base ? plan_redaction(log, data, request.position, request.fields)
                             : plan_living_redaction(log, data, request.position, request.fields,
                                                     while_stopped);
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
  planned.base = std::move(made->base);
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
