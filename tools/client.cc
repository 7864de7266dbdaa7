#include "tools/client.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace signalbox {
namespace {

namespace json = boost::json;

// Far beyond any answer; only something that is no Signalbox server sends more.
constexpr std::size_t answer_bytes_max = 64 * 1024 * 1024;

std::string start_command(const std::filesystem::path& socket) {
  const std::string data = socket.parent_path().string();
  std::string command = "signalbox serve --data " + (data.empty() ? std::string(".") : data);
  if (socket.filename() != "signalbox.sock") command += " --socket " + socket.string();
  return command;
}

void set_timeout(int file_descriptor, std::chrono::milliseconds timeout) {
  if (timeout.count() <= 0) return;
  timeval time{};
  time.tv_sec = timeout.count() / 1000;
  time.tv_usec = timeout.count() % 1000 * 1000;
  ::setsockopt(file_descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  ::setsockopt(file_descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

}  // namespace

Called<Client> Client::connect(const std::filesystem::path& socket,
                               std::chrono::milliseconds timeout) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = socket.string();
  if (path.size() >= sizeof address.sun_path) {
    return tl::unexpected(usage_error("the path of the socket is too long for the kernel (" +
                                      std::to_string(sizeof address.sun_path - 1) +
                                      " bytes): " + path));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  const int file_descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (file_descriptor < 0) return tl::unexpected(io_error(std::strerror(errno)));
  set_timeout(file_descriptor, timeout);
  int result = 0;
  do {
    result = ::connect(file_descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address);
  } while (result != 0 && errno == EINTR);
  if (result != 0) {
    const int error = errno;
    ::close(file_descriptor);
    if (error == EAGAIN || error == EINPROGRESS) {
      return tl::unexpected(timed_out("the server at " + path + " takes no connection"));
    }
    if (error == EACCES || error == EPERM) {
      CallError denied = unreachable("not allowed to connect to " + path, {"ls -l " + path});
      denied.exit_code = ExitCode::not_allowed;
      return tl::unexpected(std::move(denied));
    }
    return tl::unexpected(unreachable("no server answers at " + path + ": " + std::strerror(error),
                                      {start_command(socket)}));
  }
  return Client(file_descriptor, socket);
}

Client::Client(int file_descriptor, std::filesystem::path socket)
    : file_descriptor_(file_descriptor), socket_(std::move(socket)) {}

Client::Client(Client&& other) noexcept
    : file_descriptor_(std::exchange(other.file_descriptor_, -1)),
      socket_(std::move(other.socket_)),
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
  if (auto sent = send(json::serialize(request) + "\n"); !sent) {
    return tl::unexpected(std::move(sent.error()));
  }
  for (;;) {
    auto message = receive();
    if (!message) return tl::unexpected(std::move(message.error()));
    if (message->contains("method")) {
      notifications_.push_back(std::move(*message));
      continue;
    }
    const json::value* answered = message->if_contains("id");
    // The server answers with a null id what it could not read far enough to find one.
    if (answered != nullptr && !answered->is_null() && *answered != json::value(id)) continue;
    if (json::value* error = message->if_contains("error");
        error != nullptr && error->is_object()) {
      return tl::unexpected(refused_by_server(std::move(error->get_object())));
    }
    if (json::value* result = message->if_contains("result");
        result != nullptr && result->is_object()) {
      return std::move(result->get_object());
    }
    return tl::unexpected(gone("what it sent is no answer: " + json::serialize(*message)));
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

Called<void> Client::send(std::string_view line) {
  while (!line.empty()) {
    const ssize_t sent = ::send(file_descriptor_, line.data(), line.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return tl::unexpected(failed(errno));
    line.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

Called<json::object> Client::receive() {
  std::size_t searched = 0;
  for (;;) {
    if (const auto end = received_.find('\n', searched); end != std::string::npos) {
      json::error_code error;
      json::value message = json::parse(json::string_view(received_.data(), end), error);
      received_.erase(0, end + 1);
      if (error || !message.is_object())
        return tl::unexpected(gone("what it sent is no JSON object"));
      return std::move(message.get_object());
    }
    searched = received_.size();
    if (searched > answer_bytes_max) return tl::unexpected(gone("its answer never ends"));
    char buffer[64 * 1024];
    const ssize_t got = ::recv(file_descriptor_, buffer, sizeof buffer, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return tl::unexpected(failed(errno));
    if (got == 0) return tl::unexpected(gone("it closed the connection"));
    received_.append(buffer, static_cast<std::size_t>(got));
  }
}

void Client::interrupt() const { ::shutdown(file_descriptor_, SHUT_RDWR); }

CallError Client::failed(int error) const {
  if (error != EAGAIN) return gone(std::strerror(error));
  return timed_out("the server at " + socket_.string() + " doesn't answer");
}

CallError Client::gone(const std::string& why) const {
  return unreachable("the server at " + socket_.string() + " went away before it answered (" + why +
                         "); a change that was asked for may have been made",
                     {"signalbox status", start_command(socket_)});
}

}  // namespace signalbox
