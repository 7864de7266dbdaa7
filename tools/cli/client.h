// A client of the service: one connection, one request at a time, as lines of JSON-RPC 2.0.
#pragma once

#include <chrono>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "tools/cli/call_error.h"
#include "tools/cli/server_address.h"

namespace signalbox {

// All calls block. Not thread-safe, except for interrupt().
class Client {
 public:
  // Connects, and authenticates if the address has a secret. Fails with `unreachable` if no server
  // listens there, naming the command that starts one, or with the server's answer if it doesn't
  // know the secret.
  // With a `timeout`, neither connect() nor a call waits longer than that for a single send or
  // receive. After TIMED_OUT the connection can't be used any more.
  static Called<Client> connect(const ServerAddress& server,
                                std::chrono::milliseconds timeout = {});

  Client(Client&& other) noexcept;
  Client& operator=(Client&&) = delete;
  ~Client();

  // Returns the result, or the error that the server answered with. Fails with `unreachable` if the
  // connection ends before the answer: a mutating method may or may not have been carried out then.
  Called<boost::json::object> call(std::string_view method, boost::json::object params);

  // Makes the call under way and all later ones fail at once. Called from another thread.
  void interrupt() const;

  // Returns the next notification, {"method", "params"}; waits for one if there is none.
  Called<boost::json::object> next_notification();

  // Waits at most that long for a notification, which the next call of next_notification() returns.
  // Returns whether there is one.
  Called<bool> await_notification(std::chrono::milliseconds timeout);

 private:
  Client(int file_descriptor, ServerAddress server);

  Called<void> send(std::string_view line);
  Called<boost::json::object> receive();
  [[nodiscard]] CallError connection_lost(const std::string& why) const;

  [[nodiscard]] CallError socket_error(int error) const;

  int file_descriptor_;
  ServerAddress server_;  // without the secret
  std::string received_;  // bytes after the last complete line
  std::deque<boost::json::object> notifications_;
  std::int64_t next_id_ = 1;
};

// A client that repeats a call until the server answers it, over any number of restarts.
class PatientClient {
 public:
  explicit PatientClient(std::filesystem::path socket) : socket_(std::move(socket)) {}

  // Returns the result, or the error that the server refused it with. Blocks and repeats the call
  // until there is an answer, without limit. A mutating method needs a `command_id` in its params,
  // so that repeating it has one effect.
  Called<boost::json::object> call(std::string_view method, const boost::json::object& params);

 private:
  std::filesystem::path socket_;
  std::optional<Client> client_;
};

}  // namespace signalbox
