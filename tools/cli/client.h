// The other end of the socket: one connection, one question at a time, over JSON-RPC 2.0 lines.
#pragma once

#include <chrono>
#include <deque>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "tools/cli/call_error.h"
#include "tools/cli/server_address.h"

namespace signalbox {

// Blocks. One thread at a time.
class Client {
 public:
  // `unreachable` if no server listens there, with the command that starts one. A secret is sent
  // first; the error is the answer of a server that does not know it.
  // With a `timeout` neither this nor a call waits longer than that for the server to take or to
  // say something: it is TIMED_OUT then, and the connection is of no more use.
  static Called<Client> connect(const ServerAddress& server,
                                std::chrono::milliseconds timeout = {});

  Client(Client&& other) noexcept;
  Client& operator=(Client&&) = delete;
  ~Client();

  // The result, or the error that the server answered with. `unreachable` if the connection ends
  // before the answer: then a mutating method may or may not have been carried out.
  Called<boost::json::object> call(std::string_view method, boost::json::object params);

  // From another thread: what waits for the server fails at once, and so does what follows.
  void interrupt() const;

  // The next message that isn't an answer: {"method", "params"}.
  Called<boost::json::object> next_notification();

 private:
  Client(int file_descriptor, ServerAddress server);

  Called<void> send(std::string_view line);
  Called<boost::json::object> receive();
  [[nodiscard]] CallError gone(const std::string& why) const;

  [[nodiscard]] CallError failed(int error) const;

  int file_descriptor_;
  ServerAddress server_;  // without the secret
  std::string received_;  // what lies beyond the last line taken
  std::deque<boost::json::object> notifications_;
  std::int64_t next_id_ = 1;
};

}  // namespace signalbox
