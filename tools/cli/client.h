// A client of the service: one connection, one request at a time, as lines of JSON-RPC 2.0.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json/object.hpp>

#include "tools/cli/call_error.h"
#include "tools/cli/server_address.h"
#include "tools/cli/server_connection.h"

namespace signalbox {

// All calls block. Not thread-safe, except for interrupt().
class Client {
 public:
  // Connects, and authenticates if the address has a secret. Tries the endpoints in their order
  // until one takes the connection, each over TCP or TLS for connect_time_max at most. Fails with
  // `unreachable` if no server listens there, naming the command that starts one, or with the
  // server's answer if it doesn't know the secret.
  // With a `timeout`, connecting to all endpoints together, and each later send or receive, waits
  // no longer than that. After TIMED_OUT the connection can't be used any more.
  static Called<Client> connect(const ServerAddress& server,
                                std::chrono::milliseconds timeout = {});

  // Returns the endpoint that took the connection.
  [[nodiscard]] const Endpoint& endpoint() const { return endpoint_; }

  // Returns the result, or the error that the server answered with. Fails with `unreachable` if the
  // connection ends before the answer: a mutating method may or may not have been carried out then.
  Called<boost::json::object> call(std::string_view method, boost::json::object params);

  // Makes the call under way and all later ones fail at once. Called from another thread.
  void interrupt() const { connection_.interrupt(); }

  // Returns the next notification, {"method", "params"}; waits for one if there is none.
  Called<boost::json::object> next_notification();

  // Waits at most that long for a notification, which the next call of next_notification() returns.
  // Returns whether there is one.
  Called<bool> await_notification(std::chrono::milliseconds timeout);

 private:
  Client(ServerConnection connection, Endpoint endpoint)
      : connection_(std::move(connection)), endpoint_(std::move(endpoint)) {}

  static Called<Client> connect_one(const ServerAddress& server, const Endpoint& endpoint,
                                    std::chrono::milliseconds connect_time,
                                    std::chrono::milliseconds timeout);

  // Proves who asks, if the address has a secret. If there are other endpoints, fails with
  // `unreachable` unless this one answers soon: a server that hangs still takes connections.
  Called<void> greet(const ServerAddress& server);
  Called<boost::json::object> receive();
  [[nodiscard]] CallError connection_lost(const std::string& why) const;
  [[nodiscard]] CallError transfer_error(const TransferFault& fault) const;
  [[nodiscard]] CallError needs_tls(CallError refused) const;

  ServerConnection connection_;
  Endpoint endpoint_;
  std::string received_;           // bytes after the last complete line
  std::size_t message_bytes_ = 0;  // of the latest message
  std::deque<boost::json::object> notifications_;
  std::int64_t next_id_ = 1;
  std::chrono::milliseconds patience_{};  // with the next answer; 0: as the connection has it
};

}  // namespace signalbox
