#include "tests/crash/connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include <gtest/gtest.h>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "tests/fixtures/connected_socket.h"

namespace signalbox::test {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

bool ready(int file_descriptor, short event, Clock::time_point until) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left < 0) return false;
    pollfd entry{file_descriptor, event, 0};
    const int found = ::poll(&entry, 1, static_cast<int>(left) + 1);
    if (found > 0) return true;
    if (found < 0 && errno != EINTR) return false;
  }
}

}  // namespace

std::optional<Connection> Connection::open(const std::filesystem::path& socket) {
  FileDescriptor connected = connected_socket(socket);
  if (!connected) return std::nullopt;
  return Connection(connected.release());
}

Connection::Connection(Connection&& other) noexcept
    : file_descriptor_(std::exchange(other.file_descriptor_, -1)),
      received_(std::move(other.received_)),
      taken_(other.taken_),
      scanned_(other.scanned_),
      next_id_(other.next_id_) {}

Connection& Connection::operator=(Connection&& other) noexcept {
  std::swap(file_descriptor_, other.file_descriptor_);
  received_ = std::move(other.received_);
  taken_ = other.taken_;
  scanned_ = other.scanned_;
  next_id_ = other.next_id_;
  return *this;
}

Connection::~Connection() {
  if (file_descriptor_ >= 0) ::close(file_descriptor_);
}

bool Connection::send(std::string_view bytes, std::chrono::milliseconds at_most) {
  auto until = Clock::now() + at_most;
  while (!bytes.empty()) {
    const ssize_t sent =
        ::send(file_descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
      until = Clock::now() + at_most;
    } else if (errno == EAGAIN) {
      if (!ready(file_descriptor_, POLLOUT, until)) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

std::optional<std::string> Connection::line(std::chrono::milliseconds at_most) {
  const auto until = Clock::now() + at_most;
  for (;;) {
    const std::size_t found = received_.find('\n', std::max(taken_, scanned_));
    if (found != std::string::npos) {
      std::string text = received_.substr(taken_, found - taken_);
      taken_ = scanned_ = found + 1;
      if (taken_ == received_.size()) {
        received_.clear();
        taken_ = scanned_ = 0;
      }
      return text;
    }
    received_.erase(0, taken_);
    taken_ = 0;
    scanned_ = received_.size();
    if (!ready(file_descriptor_, POLLIN, until)) return std::nullopt;
    std::array<char, 65536> buffer;
    const ssize_t got = ::recv(file_descriptor_, buffer.data(), buffer.size(), 0);
    if (got <= 0) return std::nullopt;
    received_.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

std::optional<json::object> Connection::message(std::chrono::milliseconds at_most) {
  const auto text = line(at_most);
  if (!text) return std::nullopt;
  json::error_code error;
  json::value value = json::parse(*text, error);
  if (error || !value.is_object()) return std::nullopt;
  return std::move(value.get_object());
}

void Connection::end_output() { ::shutdown(file_descriptor_, SHUT_WR); }

bool Connection::closed_by_server() {
  if (taken_ < received_.size()) return false;
  if (!ready(file_descriptor_, POLLIN, Clock::now() + patience)) return false;
  char byte = 0;
  return ::recv(file_descriptor_, &byte, 1, 0) <= 0;
}

std::optional<json::object> Connection::call(std::string_view method, json::object params,
                                             std::chrono::milliseconds at_most) {
  const std::int64_t id = next_id_++;
  if (!send(request_line(id, method, params))) return std::nullopt;
  for (;;) {
    auto answer = message(at_most);
    if (!answer) return std::nullopt;
    const json::value* its_id = answer->if_contains("id");
    if (its_id != nullptr && its_id->is_int64() && its_id->get_int64() == id) return answer;
  }
}

std::optional<json::object> answer_of(const std::filesystem::path& socket, std::string_view method,
                                      json::object params) {
  auto connection = Connection::open(socket);
  if (!connection) return std::nullopt;
  return connection->call(method, std::move(params), std::chrono::minutes(2));
}

std::string request_line(std::int64_t id, std::string_view method, const json::object& params) {
  json::object request;
  request["jsonrpc"] = "2.0";
  request["id"] = id;
  request["method"] = json::string_view(method.data(), method.size());
  request["params"] = params;
  return json::serialize(request) + "\n";
}

std::string error_code_of(const json::object& answer) {
  const json::value* error = answer.if_contains("error");
  if (error == nullptr) return "";
  return std::string(error->at("data").at("code").as_string());
}

json::object result_of(const std::optional<json::object>& answer) {
  if (answer && answer->contains("result")) return answer->at("result").as_object();
  ADD_FAILURE() << (answer ? json::serialize(*answer) : std::string("no answer"));
  return {};
}

std::uint64_t number_of(const json::value& value) {
  if (value.is_string()) return std::stoull(std::string(value.get_string()));
  return value.to_number<std::uint64_t>();
}

}  // namespace signalbox::test
