#include "tools/cli/client.h"

#include "domain/try.h"
#include "server/text/json_text.h"
#include "server/text/utf8_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <boost/json/serialize.hpp>

namespace signalbox {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

// Far above any answer of a Signalbox server; only another program would send more.
constexpr std::size_t answer_bytes_max = 64 * 1024 * 1024;

// How long a server may take for its first answer where another one may be asked instead.
constexpr milliseconds greeting_time_max{2'000};

// Returns whether the failure is one of this endpoint, so that the next one may do better.
bool may_another_answer(const CallError& failure) {
  return failure.exit_code == ExitCode::unreachable || failure.exit_code == ExitCode::try_again ||
         code_of(failure) == "CERTIFICATE_REFUSED";
}

// Returns the path of a text that isn't UTF-8, which JSON can't carry; "" if there is none.
std::string find_not_utf8(const json::value& value, const std::string& path = {}) {
  if (value.is_string()) return is_utf8(value.get_string()) ? "" : path;
  if (const auto* array = value.if_array()) {
    for (const json::value& each : *array) {
      if (std::string found = find_not_utf8(each, path); !found.empty()) return found;
    }
  }
  if (const auto* object = value.if_object()) {
    for (const auto& each : *object) {
      const std::string below =
          path.empty() ? std::string(each.key()) : path + "." + each.key_c_str();
      if (std::string found = find_not_utf8(each.value(), below); !found.empty()) return found;
    }
  }
  return {};
}

}  // namespace

Called<Client> Client::connect(const ServerAddress& server, milliseconds timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  std::vector<CallError> failures;
  std::size_t left = server.endpoints.size();
  for (const Endpoint& endpoint : server.endpoints) {
    milliseconds connect_time = endpoint.is_unix() ? timeout : connect_time_max;
    if (timeout.count() > 0) {  // one that is silent leaves time for those behind it
      const auto whole = std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now());
      const milliseconds share =
          std::max(whole / static_cast<milliseconds::rep>(left), milliseconds(1));
      connect_time = endpoint.is_unix() ? share : std::min(share, connect_time_max);
    }
    --left;
    auto client = connect_one(server, endpoint, connect_time, timeout);
    if (client || !may_another_answer(client.error())) return client;
    failures.push_back(std::move(client.error()));
  }
  if (failures.empty()) return tl::unexpected(usage_error("no server is named"));
  return tl::unexpected(none_answered(std::move(failures)));
}

Called<Client> Client::connect_one(const ServerAddress& server, const Endpoint& endpoint,
                                   milliseconds connect_time, milliseconds timeout) {
  auto connection = TRY(ServerConnection::open(server, endpoint, connect_time, timeout));
  Client client(std::move(connection), endpoint);
  TRY(client.greet(server));
  return client;
}

Called<void> Client::greet(const ServerAddress& server) {
  const bool has_others = server.endpoints.size() > 1;
  if (has_others) patience_ = greeting_time_max;
  if (!server.secret.empty()) {
    TRY(call("server.authenticate", {{"secret", server.secret}}));
  } else if (has_others) {
    // A refusal is an answer as well.
    const auto answer = call("server.whoami", {});
    if (!answer && answer.error().exit_code == ExitCode::unreachable) {
      return tl::unexpected(answer.error());
    }
  }
  patience_ = {};
  return {};
}

Called<json::object> Client::call(std::string_view method, json::object params) {
  if (const auto field = find_not_utf8(params); !field.empty()) {
    return tl::unexpected(usage_error(field + " isn't UTF-8: the terminal uses another encoding",
                                      {"locale charmap"}));
  }
  const std::int64_t id = next_id_++;
  json::object request;
  request["jsonrpc"] = "2.0";
  request["id"] = id;
  request["method"] = method;
  request["params"] = std::move(params);
  if (const auto sent = connection_.send(json::serialize(request) + "\n"); !sent) {
    return tl::unexpected(transfer_error(sent.error()));
  }
  if (patience_.count() > 0) {
    const auto ready = connection_.await(patience_);
    if (!ready || !*ready) {
      return tl::unexpected(unreachable(
          "the server at " + endpoint_.text() + " takes the connection and doesn't answer",
          {endpoint_.status_command()}));
    }
  }
  for (std::size_t notified_bytes = 0;;) {
    auto message = TRY(receive());
    if (message.contains("method")) {
      notified_bytes += message_bytes_;
      if (notified_bytes > answer_bytes_max) {
        return tl::unexpected(connection_lost("it sends other messages, and no answer"));
      }
      notifications_.push_back(std::move(message));
      continue;
    }
    const json::value* answered = message.if_contains("id");
    // The server answers with a null id if it could not parse the request far enough to find the
    // id.
    if (answered != nullptr && !answered->is_null() && *answered != json::value(id)) continue;
    if (json::value* error = message.if_contains("error"); error != nullptr && error->is_object()) {
      const bool is_unread = answered == nullptr || answered->is_null();
      CallError refused = refused_by_server(std::move(error->as_object()));
      // A server that takes TLS only says so instead of reading the request.
      if (is_unread && !endpoint_.is_tls && !endpoint_.is_unix() &&
          code_of(refused) == "NOT_ALLOWED") {
        return tl::unexpected(needs_tls(std::move(refused)));
      }
      return tl::unexpected(std::move(refused));
    }
    if (json::value* result = message.if_contains("result");
        result != nullptr && result->is_object()) {
      return std::move(result->as_object());
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

Called<bool> Client::await_notification(milliseconds timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  while (notifications_.empty()) {
    if (received_.find('\n') == std::string::npos) {
      const auto left = std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now());
      const auto ready = connection_.await(std::max(left, milliseconds(0)));
      if (!ready) return tl::unexpected(transfer_error(ready.error()));
      if (!*ready) return false;
    }
    auto message = TRY(receive());
    // The answer to a call that has failed is nobody's.
    if (message.contains("method")) notifications_.push_back(std::move(message));
  }
  return true;
}

Called<json::object> Client::receive() {
  std::size_t searched = 0;
  for (;;) {
    if (const auto end = received_.find('\n', searched); end != std::string::npos) {
      json::error_code error;
      json::value message = parse_answer(std::string_view(received_.data(), end), error);
      received_.erase(0, end + 1);
      message_bytes_ = end;
      if (error || !message.is_object())
        return tl::unexpected(connection_lost("its message is not a JSON object"));
      return std::move(message.as_object());
    }
    searched = received_.size();
    if (searched > answer_bytes_max)
      return tl::unexpected(connection_lost("its answer never ends"));
    char buffer[64 * 1024];
    const auto got = connection_.receive(buffer);
    if (!got) return tl::unexpected(transfer_error(got.error()));
    if (*got == 0) return tl::unexpected(connection_lost("it closed the connection"));
    received_.append(buffer, *got);
  }
}

CallError Client::transfer_error(const TransferFault& fault) const {
  if (!fault.is_timeout) return connection_lost(fault.message);
  return timed_out("the server at " + endpoint_.text() + " doesn't answer",
                   {endpoint_.status_command()});
}

CallError Client::connection_lost(const std::string& why) const {
  return unreachable("the server at " + endpoint_.text() +
                         " closed the connection before it answered (" + why +
                         "); the requested change may have been made",
                     {endpoint_.status_command(), endpoint_.start_command()});
}

CallError Client::needs_tls(CallError refused) const {
  Endpoint encrypted = endpoint_;
  encrypted.is_tls = true;
  refused.error["message"] = "the server at " + endpoint_.text() +
                             " takes TLS connections only: name it " + encrypted.text();
  return refused;
}

}  // namespace signalbox
