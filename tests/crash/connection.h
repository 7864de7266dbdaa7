// The socket as a client of no good manners needs it: raw bytes out, lines in, nothing checked.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

namespace signalbox::test {

// Blocks, but never longer than `patience` while nothing moves. One thread may send (`send`,
// `end_output`) while another receives (`line`, `message`, `closed_by_server`): the two halves
// share nothing but the socket. Whatever else, `call` too, is for one thread at a time.
//
// Who sends more than a server may owe answers for must receive meanwhile: it stops reading from
// one who doesn't.
class Connection {
 public:
  static constexpr std::chrono::seconds patience{30};

  // nullopt if nobody listens there.
  static std::optional<Connection> open(const std::filesystem::path& socket);

  Connection(Connection&& other) noexcept;
  Connection& operator=(Connection&& other) noexcept;
  ~Connection();

  // All of it; false when the connection is gone or the server takes nothing for so long.
  bool send(std::string_view bytes, std::chrono::milliseconds at_most = patience);
  // The next line, without its break; nullopt at the end of the connection or of patience.
  std::optional<std::string> line(std::chrono::milliseconds at_most = patience);
  // The next line as JSON; nullopt if it isn't an object.
  std::optional<boost::json::object> message();
  // Half-close: no more from here.
  void end_output();
  // Waits for the other end to close; false if it says something instead or takes too long.
  bool closed_by_server();

  // One request and its answer, which is the next message with its id. nullopt when the connection
  // went before it came.
  std::optional<boost::json::object> call(std::string_view method, boost::json::object params);

 private:
  explicit Connection(int file_descriptor) : file_descriptor_(file_descriptor) {}

  int file_descriptor_;
  // The receiving half's own.
  std::string received_;
  std::size_t taken_ = 0;    // of received_, given out already
  std::size_t scanned_ = 0;  // of received_, known to hold no line break

  std::int64_t next_id_ = 1;  // of `call`
};

// One request over a connection of its own. nullopt if nobody listens, or nobody answers.
std::optional<boost::json::object> answer_of(const std::filesystem::path& socket,
                                             std::string_view method, boost::json::object params);

// {"jsonrpc":"2.0","id":…,"method":…,"params":…}, with its line break.
std::string request_line(std::int64_t id, std::string_view method,
                         const boost::json::object& params);

// The `data.code` of an answer that is an error, "" of one that is a result.
std::string error_code_of(const boost::json::object& answer);

// The `result` of an answer; an empty object, and a test failure, if it is an error.
boost::json::object result_of(const std::optional<boost::json::object>& answer);

// Positions and tokens come as numbers of either sign, or quoted.
std::uint64_t number_of(const boost::json::value& value);

}  // namespace signalbox::test
