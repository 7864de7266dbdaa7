#include "tools/cli/patient_client.h"

#include <thread>

#include "tools/cli/backoff.h"

namespace signalbox {
namespace {

// Longer than any wait that a caller asks of the server.
constexpr std::chrono::seconds answer_timeout{90};
constexpr std::chrono::milliseconds pause_min{50};
constexpr std::chrono::milliseconds pause_max{1000};

// Returns whether the error says nothing about the request itself, so that a repetition may
// succeed.
bool is_retryable(const CallError& error) {
  switch (error.exit_code) {
    case ExitCode::unreachable:
    case ExitCode::io:
    case ExitCode::try_again:
      return true;
    case ExitCode::ok:
    case ExitCode::refused:
    case ExitCode::usage:
    case ExitCode::other_data:
    case ExitCode::protocol:
    case ExitCode::not_allowed:
    case ExitCode::damaged:
      break;
  }
  const std::string code = code_of(error);
  return code == "STORAGE_FULL" || code == "UNKNOWN_OUTCOME" || code == "TIMED_OUT" ||
         code == "OVERLOADED" || code == "SHUTTING_DOWN" || code == "STORAGE_AWAY";
}

}  // namespace

Called<boost::json::object> PatientClient::call(std::string_view method,
                                                const boost::json::object& params) {
  for (Backoff pause(pause_min, pause_max);;) {
    if (!client_) {
      auto connected = Client::connect(server_, answer_timeout);
      if (connected) {
        client_.emplace(std::move(*connected));
      } else if (!is_retryable(connected.error())) {
        return tl::unexpected(std::move(connected.error()));
      }
    }
    if (client_) {
      auto answer = client_->call(method, params);
      if (answer || !is_retryable(answer.error())) return answer;
      server_ = server_.after(client_->endpoint());
      client_.reset();
    }
    std::this_thread::sleep_for(pause.next());
  }
}

}  // namespace signalbox
