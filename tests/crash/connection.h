// A client of the socket without a protocol of its own: sends raw bytes and receives lines,
// unchecked.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

namespace signalbox::test {

// Blocks, but never longer than `patience` without progress. One thread may send (`send`,
// `end_output`) while another receives (`line`, `message`, `closed_by_server`): the two halves
// share only the socket. Everything else, including `call`, is for one thread at a time.
//
// A caller that sends more requests than the server may have unanswered must receive meanwhile: the
// server stops reading from a client that doesn't.
class Connection {
 public:
  static constexpr std::chrono::seconds patience{30};

  // Connects; returns nullopt if no server listens.
  static std::optional<Connection> open(const std::filesystem::path& socket);

  Connection(Connection&& other) noexcept;
  Connection& operator=(Connection&& other) noexcept;
  ~Connection();

  // Sends all bytes. Returns false if the connection is lost or the server accepts nothing for
  // `at_most`.
  bool send(std::string_view bytes, std::chrono::milliseconds at_most = patience);
  // Returns the next line without its line break; nullopt at the end of the connection or after
  // `at_most`.
  std::optional<std::string> line(std::chrono::milliseconds at_most = patience);
  // Returns the next line as JSON; nullopt if there is none or it isn't an object.
  std::optional<boost::json::object> message(std::chrono::milliseconds at_most = patience);
  // Half-closes the connection: nothing more is sent.
  void end_output();
  // Waits until the server closes the connection; returns false if it sends something instead, or
  // after `patience`.
  bool closed_by_server();

  // Sends a request and returns its answer, the next message with its id. Returns nullopt if the
  // connection is lost before that, or if nothing comes for `at_most`.
  std::optional<boost::json::object> call(std::string_view method, boost::json::object params,
                                          std::chrono::milliseconds at_most = patience);

 private:
  explicit Connection(int file_descriptor) : file_descriptor_(file_descriptor) {}

  int file_descriptor_;
  // The members below belong to the receiving half.
  std::string received_;
  std::size_t taken_ = 0;    // prefix of received_ that was returned
  std::size_t scanned_ = 0;  // prefix of received_ known to have no line break

  std::int64_t next_id_ = 1;  // used by `call`
};

// Sends one request over a new connection. Returns nullopt if no server listens or it doesn't
// answer: within two minutes, since a server may wait for a disk or a database first.
std::optional<boost::json::object> answer_of(const std::filesystem::path& socket,
                                             std::string_view method, boost::json::object params);

// Returns {"jsonrpc":"2.0","id":…,"method":…,"params":…} with a line break.
std::string request_line(std::int64_t id, std::string_view method,
                         const boost::json::object& params);

// Returns the `data.code` of an error answer; "" for a result.
std::string error_code_of(const boost::json::object& answer);

// Returns the `result` of an answer; an empty object, and a test failure, if it is an error or
// missing.
boost::json::object result_of(const std::optional<boost::json::object>& answer);

// Returns the value of a position or token, which may be signed, unsigned or quoted.
std::uint64_t number_of(const boost::json::value& value);

}  // namespace signalbox::test
