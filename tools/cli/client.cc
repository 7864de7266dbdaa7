#include "tools/cli/client.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include <boost/json/serialize.hpp>

#include "domain/try.h"
#include "server/text/json_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// Far above any answer of a Signalbox server; only another program would send more.
constexpr std::size_t answer_bytes_max = 64 * 1024 * 1024;

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
         code == "OVERLOADED" || code == "SHUTTING_DOWN";
}

}  // namespace

Called<Client> Client::connect(const ServerAddress& server, std::chrono::milliseconds timeout) {
  const auto file_descriptor = TRY(connect_to(server, timeout));
  Client client(file_descriptor, server);
  client.server_.secret.clear();
  if (!server.secret.empty()) {
    TRY(client.call("server.authenticate", {{"secret", server.secret}}));
  }
  return client;
}

Client::Client(int file_descriptor, ServerAddress server)
    : file_descriptor_(file_descriptor), server_(std::move(server)) {}

Client::Client(Client&& other) noexcept
    : file_descriptor_(std::exchange(other.file_descriptor_, -1)),
      server_(std::move(other.server_)),
      received_(std::move(other.received_)),
      notifications_(std::move(other.notifications_)),
      next_id_(other.next_id_) {}

Client::~Client() {
  if (file_descriptor_ >= 0) ::close(file_descriptor_);
}

Called<json::object> Client::call(std::string_view method, json::object params) {
  const std::int64_t id = next_id_++;
  json::object request;
  request["jsonrpc"] = "2.0";
  request["id"] = id;
  request["method"] = method;
  request["params"] = std::move(params);
  TRY(send(json::serialize(request) + "\n"));
  for (;;) {
    auto message = TRY(receive());
    if (message.contains("method")) {
      notifications_.push_back(std::move(message));
      continue;
    }
    const json::value* answered = message.if_contains("id");
    // The server answers with a null id if it could not parse the request far enough to find the
    // id.
    if (answered != nullptr && !answered->is_null() && *answered != json::value(id)) continue;
    if (json::value* error = message.if_contains("error"); error != nullptr && error->is_object()) {
      return tl::unexpected(refused_by_server(std::move(error->get_object())));
    }
    if (json::value* result = message.if_contains("result");
        result != nullptr && result->is_object()) {
      return std::move(result->get_object());
    }
    return tl::unexpected(
        connection_lost("its message is not an answer: " + json::serialize(message)));
  }
}

Called<json::object> Client::next_notification() {
  if (!notifications_.empty()) {
    json::object first = std::move(notifications_.front());
    notifications_.pop_front();
    return first;
  }
  return receive();
}

Called<bool> Client::await_notification(std::chrono::milliseconds timeout) {
  using std::chrono::milliseconds;
  const auto end = std::chrono::steady_clock::now() + timeout;
  while (notifications_.empty()) {
    if (received_.find('\n') == std::string::npos) {
      const auto left =
          std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now()).count();
      pollfd waiting{file_descriptor_, POLLIN, 0};
      const int ready = ::poll(&waiting, 1, static_cast<int>(std::max<milliseconds::rep>(left, 0)));
      if (ready < 0 && errno == EINTR) continue;
      if (ready < 0) return tl::unexpected(socket_error(errno));
      if (ready == 0) return false;
    }
    auto message = TRY(receive());
    // The answer to a call that has failed is nobody's.
    if (message.contains("method")) notifications_.push_back(std::move(message));
  }
  return true;
}

Called<void> Client::send(std::string_view line) {
  while (!line.empty()) {
    const ssize_t sent = ::send(file_descriptor_, line.data(), line.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return tl::unexpected(socket_error(errno));
    line.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

Called<json::object> Client::receive() {
  std::size_t searched = 0;
  for (;;) {
    if (const auto end = received_.find('\n', searched); end != std::string::npos) {
      json::error_code error;
      json::value message = parse_answer(std::string_view(received_.data(), end), error);
      received_.erase(0, end + 1);
      if (error || !message.is_object())
        return tl::unexpected(connection_lost("its message is not a JSON object"));
      return std::move(message.get_object());
    }
    searched = received_.size();
    if (searched > answer_bytes_max)
      return tl::unexpected(connection_lost("its answer never ends"));
    char buffer[64 * 1024];
    const ssize_t got = ::recv(file_descriptor_, buffer, sizeof buffer, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return tl::unexpected(socket_error(errno));
    if (got == 0) return tl::unexpected(connection_lost("it closed the connection"));
    received_.append(buffer, static_cast<std::size_t>(got));
  }
}

void Client::interrupt() const { ::shutdown(file_descriptor_, SHUT_RDWR); }

CallError Client::socket_error(int error) const {
  if (error != EAGAIN) return connection_lost(std::strerror(error));
  return timed_out("the server at " + server_.text() + " doesn't answer");
}

CallError Client::connection_lost(const std::string& why) const {
  return unreachable("the server at " + server_.text() +
                         " closed the connection before it answered (" + why +
                         "); the requested change may have been made",
                     {"signalbox status", server_.start_command()});
}

Called<boost::json::object> PatientClient::call(std::string_view method,
                                                const boost::json::object& params) {
  for (auto pause = pause_min;; pause = std::min(2 * pause, pause_max)) {
    if (!client_) {
      auto connected = Client::connect(socket_, answer_timeout);
      if (connected) {
        client_.emplace(std::move(*connected));
      } else if (!is_retryable(connected.error())) {
        return tl::unexpected(std::move(connected.error()));
      }
    }
    if (client_) {
      auto answer = client_->call(method, params);
      if (answer || !is_retryable(answer.error())) return answer;
      client_.reset();
    }
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace signalbox
