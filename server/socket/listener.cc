#include "server/socket/listener.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <charconv>
#include <cstring>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>

#include "server/rpc/line_limits.h"

namespace signalbox {
namespace {

namespace asio = boost::asio;
using Protocol = asio::generic::stream_protocol;

Caller caller_of(Session::Socket& socket) {
  Caller caller;
  ucred credentials{};
  socklen_t size = sizeof credentials;
  sockaddr_storage address{};
  socklen_t address_size = sizeof address;
  if (getsockname(socket.native_handle(), reinterpret_cast<sockaddr*>(&address), &address_size) ==
          0 &&
      address.ss_family == AF_UNIX &&
      getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0) {
    caller.uid = credentials.uid;
    return caller;
  }
  boost::system::error_code error;
  const auto remote = socket.remote_endpoint(error);
  if (error) return caller;
  asio::ip::tcp::endpoint endpoint;
  endpoint.resize(remote.size());
  std::memcpy(endpoint.data(), remote.data(), remote.size());
  caller.address = endpoint.address().to_string();
  caller.loopback = endpoint.address().is_loopback();
  return caller;
}

}  // namespace

class Listener::Acceptor {
 public:
  Acceptor(asio::io_context& io, Listener& listener)
      : acceptor_(io), retry_(io), listener_(listener) {}

  template <class Endpoint>
  tl::expected<void, std::string> open(const Endpoint& endpoint) {
    boost::system::error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error && endpoint.protocol().family() != AF_UNIX) {
      acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    }
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) return tl::unexpected(error.message());
    return {};
  }

  void accept() {
    acceptor_.async_accept([this](const boost::system::error_code& error, Session::Socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (error) {
        // Out of descriptors, most likely: wait for some to come free.
        retry_.expires_after(std::chrono::milliseconds(50));
        retry_.async_wait([this](const boost::system::error_code& stopped) {
          if (!stopped) accept();
        });
        return;
      }
      Caller caller = caller_of(socket);
      listener_.add(std::move(socket), std::move(caller));
      accept();
    });
  }

  void close() {
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    retry_.cancel();
    if (!path.empty()) std::filesystem::remove(path, ignored_code_);
  }

  [[nodiscard]] std::string local_address() const {
    boost::system::error_code error;
    const auto local = acceptor_.local_endpoint(error);
    asio::ip::tcp::endpoint endpoint;
    endpoint.resize(local.size());
    std::memcpy(endpoint.data(), local.data(), local.size());
    const bool v6 = endpoint.address().is_v6();
    return (v6 ? "[" : "") + endpoint.address().to_string() + (v6 ? "]:" : ":") +
           std::to_string(endpoint.port());
  }

  std::filesystem::path path;  // of a Unix socket

 private:
  asio::basic_socket_acceptor<Protocol> acceptor_;
  asio::steady_timer retry_;
  Listener& listener_;
  std::error_code ignored_code_;
};

Listener::Listener(asio::io_context& io, Session::HandleLine handle_line)
    : io_(io), handle_line_(std::move(handle_line)) {}

Listener::~Listener() = default;

tl::expected<void, std::string> Listener::listen_unix(const std::filesystem::path& path) {
  if (path.native().size() >= sizeof(sockaddr_un::sun_path)) {
    return tl::unexpected("a socket's path has at most " +
                          std::to_string(sizeof(sockaddr_un::sun_path) - 1) +
                          " bytes: " + path.string() + "; name a shorter one with --socket");
  }
  struct stat present {};
  if (lstat(path.c_str(), &present) == 0) {
    if (!S_ISSOCK(present.st_mode)) {
      return tl::unexpected(path.string() + " is there and is not a socket");
    }
    std::filesystem::remove(path);
  }
  auto acceptor = std::make_unique<Acceptor>(io_, *this);
  const mode_t before = umask(0177);  // never reachable by others, not even for a moment
  auto opened =
      acceptor->open(Protocol::endpoint(asio::local::stream_protocol::endpoint(path.string())));
  umask(before);
  if (!opened) return tl::unexpected(path.string() + ": " + opened.error());
  acceptor->path = path;
  acceptor->accept();
  acceptors_.push_back(std::move(acceptor));
  return {};
}

tl::expected<std::string, std::string> Listener::listen_tcp(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  std::uint16_t port = 0;
  const char* digits = address.data() + (colon == std::string::npos ? 0 : colon + 1);
  const char* end = address.data() + address.size();
  const auto [parsed_end, failure] = std::from_chars(digits, end, port);
  boost::system::error_code error;
  const asio::ip::address ip = asio::ip::make_address(host, error);
  if (colon == std::string::npos || failure != std::errc{} || parsed_end != end || error) {
    return tl::unexpected(
        std::string("--listen takes an address and a port, such as 127.0.0.1:7070"));
  }
  if (!ip.is_loopback()) {
    return tl::unexpected(host +
                          " is not a loopback address: whoever reaches it could do "
                          "everything; listen on 127.0.0.1 or [::1]");
  }
  auto acceptor = std::make_unique<Acceptor>(io_, *this);
  if (auto opened = acceptor->open(Protocol::endpoint(asio::ip::tcp::endpoint(ip, port)));
      !opened) {
    return tl::unexpected(address + ": " + opened.error());
  }
  std::string local = acceptor->local_address();
  acceptor->accept();
  acceptors_.push_back(std::move(acceptor));
  return local;
}

void Listener::add(Session::Socket socket, Caller caller) {
  if (sessions_.size() >= connections_max) {
    boost::system::error_code ignored;
    socket.close(ignored);
    return;
  }
  auto session = std::make_shared<Session>(
      std::move(socket), std::move(caller), handle_line_,
      [this](const std::shared_ptr<Session>& ended) { sessions_.erase(ended); });
  sessions_.insert(session);
  session->start();
}

void Listener::finish() {
  for (const auto& acceptor : acceptors_) acceptor->close();
  const std::set<std::shared_ptr<Session>> sessions = sessions_;
  for (const auto& session : sessions) session->finish();
}

void Listener::close() {
  const std::set<std::shared_ptr<Session>> sessions = sessions_;
  for (const auto& session : sessions) session->close();
}

}  // namespace signalbox
