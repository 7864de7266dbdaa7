#include "tools/bench/bare_server.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "domain/try.h"
#include "store/file_descriptor.h"
#include "tools/bench/bare_service.h"

namespace signalbox {
namespace {

constexpr int backlog = 1024;

CallError failed_call(const std::string& what) {
  return io_error(what + ": " + std::strerror(errno));
}

class BareServer {
 public:
  Called<void> open(const std::filesystem::path& data, const std::filesystem::path& socket) {
    const std::string records = (data / "records").string();
    records_ = FileDescriptor(
        ::open(records.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
    if (!records_) return tl::unexpected(failed_call(records));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = socket.string();
    if (path.size() >= sizeof address.sun_path) {
      return tl::unexpected(usage_error("the path of the socket is too long: " + path));
    }
    std::memcpy(address.sun_path, path.data(), path.size());
    listener_ = FileDescriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!listener_ ||
        ::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener_.get(), backlog) != 0) {
      return tl::unexpected(failed_call(path));
    }
    epoll_ = FileDescriptor(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll_ || !watch(listener_)) {
      return tl::unexpected(failed_call("epoll"));
    }
    return {};
  }

  // Takes everything that has arrived, makes it durable, and answers it.
  Called<void> turn() {
    std::array<epoll_event, 1024> events;
    const int ready =
        ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), -1);
    if (ready < 0 && errno != EINTR) return tl::unexpected(failed_call("epoll"));
    for (int index = 0; index < ready; ++index) {
      const int descriptor = events[static_cast<std::size_t>(index)].data.fd;
      if (descriptor == listener_.get()) {
        TRY(accept());
      } else {
        receive(descriptor);
      }
    }
    if (!service_.records().empty() &&
        (!write_all(records_, service_.records()) || ::fdatasync(records_.get()) != 0)) {
      return tl::unexpected(failed_call("the records"));
    }
    send_replies();
    return {};
  }

 private:
  struct Connection {
    FileDescriptor socket;
    std::string incoming;
    std::string outgoing;
  };

  bool watch(const FileDescriptor& socket) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = socket.get();
    return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket.get(), &event) == 0;
  }

  Called<void> accept() {
    FileDescriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket || !watch(socket)) return tl::unexpected(failed_call("accept"));
    const int descriptor = socket.get();
    connections_[descriptor].socket = std::move(socket);
    return {};
  }

  void receive(int descriptor) {
    Connection& connection = connections_.at(descriptor);
    char buffer[64 * 1024];
    const ssize_t got = ::recv(descriptor, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
      service_.forget(static_cast<std::size_t>(descriptor));
      connections_.erase(descriptor);
      return;
    }
    connection.incoming.append(buffer, static_cast<std::size_t>(got));
    std::size_t start = 0;
    for (std::size_t end = 0; (end = connection.incoming.find('\n', start)) != std::string::npos;
         start = end + 1) {
      service_.handle(static_cast<std::size_t>(descriptor),
                      std::string_view(connection.incoming).substr(start, end - start));
    }
    connection.incoming.erase(0, start);
  }

  // Blocks while a client's buffer is full: those of the load read all the time.
  void send_replies() {
    for (const BareService::Reply& reply : service_.replies()) {
      const auto found = connections_.find(static_cast<int>(reply.connection));
      if (found == connections_.end()) continue;
      if (found->second.outgoing.empty()) answered_.push_back(&found->second);
      found->second.outgoing += reply.line;
    }
    for (Connection* connection : answered_) {
      std::string_view left = connection->outgoing;
      while (!left.empty()) {
        const ssize_t sent =
            ::send(connection->socket.get(), left.data(), left.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) break;  // it has gone; the next turn closes its connection
        left.remove_prefix(static_cast<std::size_t>(sent));
      }
      connection->outgoing.clear();
    }
    answered_.clear();
    service_.clear();
  }

  FileDescriptor records_;
  FileDescriptor listener_;
  FileDescriptor epoll_;
  std::unordered_map<int, Connection> connections_;  // by descriptor
  std::vector<Connection*> answered_;
  BareService service_;
};

}  // namespace

Called<void> serve_bare_path(const std::filesystem::path& data,
                             const std::filesystem::path& socket) {
  BareServer server;
  TRY(server.open(data, socket));
  for (;;) TRY(server.turn());
}

}  // namespace signalbox
