// An HTTP client over a Unix socket or TCP: sends and reads whole messages, and raw bytes for
// malformed requests. Blocks, but never longer than `patience_ms`.
#pragma once

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "tests/fixtures/connected_socket.h"
#include "tests/scenarios/described_answer.h"

namespace signalbox {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpReply {
  unsigned status = 0;  // 0 if the connection ended, or patience did, before an answer
  boost::beast::http::response<boost::beast::http::string_body> message;

  [[nodiscard]] std::string header(std::string_view name) const {
    const auto value = message[boost::beast::string_view(name.data(), name.size())];
    return {value.data(), value.size()};
  }
  [[nodiscard]] const std::string& body() const { return message.body(); }
  [[nodiscard]] boost::json::object json() const {
    return boost::json::parse(message.body()).as_object();
  }
  // Returns the `code` of a problem document, or "".
  [[nodiscard]] std::string code() const {
    if (header("Content-Type") != "application/problem+json") return {};
    return std::string(json().at("code").as_string());
  }
};

class HttpClient {
 public:
  static constexpr int patience_ms = 30'000;

  explicit HttpClient(const std::filesystem::path& socket)
      : HttpClient("signalbox", test::connected_socket(socket)) {}
  explicit HttpClient(std::uint16_t port)
      : HttpClient("127.0.0.1:" + std::to_string(port), test::connected_socket(port)) {}

  // Returns true if the server has read all that was sent. Only for a Unix socket.
  [[nodiscard]] bool all_is_read() const {
    int bytes = 0;
    return ::ioctl(socket_.get(), SIOCOUTQ, &bytes) == 0 && bytes == 0;
  }

  // Returns true if an answer has begun, or the connection has ended.
  [[nodiscard]] bool has_input() const {
    pollfd state{socket_.get(), POLLIN, 0};
    return ::poll(&state, 1, 0) > 0;
  }

  // Returns the text of a request. A POST or PUT has the content type application/json unless the
  // headers name another.
  [[nodiscard]] std::string text(std::string_view verb, std::string_view target,
                                 const HttpHeaders& headers = {},
                                 std::string_view body = {}) const {
    std::string request = std::string(verb) + " " + std::string(target) + " HTTP/1.1\r\n";
    const auto has = [&headers](std::string_view name) {
      for (const auto& [each, value] : headers) {
        if (each == name) return true;
      }
      return false;
    };
    if (!has("Host")) request += "Host: " + host_ + "\r\n";
    const bool has_body = verb == "POST" || verb == "PUT";
    if (has_body && !has("Content-Type")) request += "Content-Type: application/json\r\n";
    for (const auto& [name, value] : headers) request += name + ": " + value + "\r\n";
    if (has_body && !has("Transfer-Encoding") && !has("Content-Length")) {
      request += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    }
    return request + "\r\n" + std::string(body);
  }

  // Sends a request and returns its answer. Expects that the OpenAPI document describes it.
  HttpReply ask(std::string_view verb, std::string_view target, const HttpHeaders& headers = {},
                std::string_view body = {}) {
    send(text(verb, target, headers, body));
    HttpReply answer = reply(verb == "HEAD");
    if (answer.status != 0) {
      openapi::expect_described(verb, target,
                                {answer.status, answer.header("Content-Type"), answer.body()});
    }
    return answer;
  }
  HttpReply get(std::string_view target, const HttpHeaders& headers = {}) {
    return ask("GET", target, headers);
  }
  HttpReply post(std::string_view target, std::string_view body, const HttpHeaders& headers = {}) {
    return ask("POST", target, headers, body);
  }

  // Returns false if the server accepts no more bytes.
  bool send(std::string_view bytes) { return test::send_all(socket_, bytes); }
  // Closes the connection for writing.
  void end_output() { ::shutdown(socket_.get(), SHUT_WR); }

  // Returns the next answer, which has no body if the request was a HEAD.
  HttpReply reply(bool is_head = false) {
    namespace http = boost::beast::http;
    http::response_parser<http::string_body> parser;
    parser.body_limit(boost::none);
    parser.skip(is_head);
    boost::system::error_code error;
    http::read(*this, buffer_, parser, error);
    HttpReply reply;
    if (error) return reply;
    reply.message = parser.release();
    reply.status = reply.message.result_int();
    return reply;
  }

  // Returns what comes next, up to and including `end`, or what arrived until the connection or
  // patience ended.
  std::string read_until(std::string_view end) {
    while (true) {
      const std::string_view have(static_cast<const char*>(buffer_.data().data()),
                                  buffer_.data().size());
      const std::size_t found = have.find(end);
      if (found != std::string_view::npos) {
        std::string text(have.substr(0, found + end.size()));
        buffer_.consume(text.size());
        return text;
      }
      boost::system::error_code error;
      const std::size_t bytes = read_some(buffer_.prepare(64 * 1024), error);
      // `have` can't be used here: prepare() moved the bytes.
      if (error) return boost::beast::buffers_to_string(buffer_.data());
      buffer_.commit(bytes);
    }
  }
  // Returns everything up to the end of the connection.
  std::string read_all() { return read_until(std::string_view("\0never", 6)); }

  // Returns true once the server has closed the connection; false if it sends something, or nothing
  // within `patience_ms`.
  bool closed_by_server() {
    char byte = 0;
    pollfd state{socket_.get(), POLLIN, 0};
    if (::poll(&state, 1, patience_ms) <= 0) return false;
    return ::recv(socket_.get(), &byte, 1, 0) <= 0;
  }

  // The interface of a SyncReadStream, for boost::beast::http::read().
  template <class Buffers>
  std::size_t read_some(const Buffers& buffers, boost::system::error_code& error) {
    const boost::asio::mutable_buffer room(*boost::asio::buffer_sequence_begin(buffers));
    pollfd state{socket_.get(), POLLIN, 0};
    error = {};
    if (::poll(&state, 1, patience_ms) <= 0) {
      error = boost::asio::error::timed_out;
      return 0;
    }
    const ssize_t bytes = ::recv(socket_.get(), room.data(), room.size(), 0);
    if (bytes > 0) return static_cast<std::size_t>(bytes);
    error = boost::asio::error::connection_reset;
    if (bytes == 0) error = boost::asio::error::eof;
    return 0;
  }
  template <class Buffers>
  std::size_t read_some(const Buffers& buffers) {
    boost::system::error_code error;
    const std::size_t bytes = read_some(buffers, error);
    if (error) throw std::runtime_error(error.message());
    return bytes;
  }

 private:
  HttpClient(std::string host, FileDescriptor socket)
      : host_(std::move(host)), socket_(std::move(socket)) {
    if (!socket_) throw std::runtime_error(std::string("can't connect: ") + std::strerror(errno));
  }

  std::string host_;
  FileDescriptor socket_;
  boost::beast::flat_buffer buffer_;
};

}  // namespace signalbox
