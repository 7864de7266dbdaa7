#include "server/transport/listener.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>

#include "server/limits.h"
#include "server/rpc/responder.h"
#include "server/transport/http/http_header.h"
#include "server/transport/http/http_session.h"
#include "server/transport/http/problem.h"
#include "server/transport/tls_relay.h"
#include "store/file_descriptor.h"

namespace signalbox {
namespace {

namespace asio = boost::asio;
using SocketProtocol = asio::generic::stream_protocol;

using Socket = OpenConnection::Socket;

asio::ip::address address_of(const SocketProtocol::endpoint& generic) {
  asio::ip::tcp::endpoint endpoint;
  endpoint.resize(generic.size());
  std::memcpy(endpoint.data(), generic.data(), generic.size());
  return endpoint.address();
}

ConnectionOrigin origin_of(Socket& socket) {
  ConnectionOrigin origin;
  ucred credentials{};
  socklen_t size = sizeof credentials;
  boost::system::error_code error;
  const auto local = socket.local_endpoint(error);
  if (!error && local.protocol().family() == AF_UNIX &&
      getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0) {
    origin.caller.uid = credentials.uid;
    return origin;
  }
  origin.is_tcp = true;
  if (!error) origin.local_address = address_of(local).to_string();
  const auto remote = socket.remote_endpoint(error);
  if (error) return origin;
  origin.caller.address = address_of(remote).to_string();
  origin.caller.loopback = address_of(remote).is_loopback();
  return origin;
}

// Returns a TCP endpoint as "host:port".
std::string address_text(const SocketProtocol::endpoint& generic) {
  asio::ip::tcp::endpoint endpoint;
  endpoint.resize(generic.size());
  std::memcpy(endpoint.data(), generic.data(), generic.size());
  const bool v6 = endpoint.address().is_v6();
  return (v6 ? "[" : "") + endpoint.address().to_string() + (v6 ? "]:" : ":") +
         std::to_string(endpoint.port());
}

// Answers a connection without TLS at an address that requires TLS, in the protocol that it used.
void refuse_plain(Socket& socket, Protocol protocol) {
  boost::system::error_code ignored;
  const std::string address = address_text(socket.local_endpoint(ignored));
  const Rejection refusal{ErrorCode::NOT_ALLOWED,
                          "this address takes TLS connections only",
                          {},
                          {"openssl s_client -brief -connect " + address}};
  std::string text = error_line("null", refusal) + "\n";
  if (protocol == Protocol::http) {
    const HttpAnswer answer = problem(400, refusal);
    text = header_text(answer, std::nullopt, false) + answer.body;
  }
  socket.send(asio::buffer(text), MSG_NOSIGNAL, ignored);
  socket.shutdown(Socket::shutdown_send, ignored);
  // Closing with unread input would send a reset, which discards the answer at the peer.
  char unread[4096];
  while (::recv(socket.native_handle(), unread, sizeof unread, MSG_DONTWAIT) > 0) {
  }
}

// Returns true if a process listens at the socket at `path`; false if a killed server left it.
bool somebody_listens(const std::filesystem::path& path) {
  const FileDescriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.native().copy(address.sun_path, sizeof address.sun_path - 1);
  return ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
         errno == EAGAIN;  // it listens, and its backlog is full
}

}  // namespace

// One listening socket.
class Listener::Acceptor {
 public:
  Acceptor(asio::io_context& io, Listener& listener, TlsContext tls)
      : acceptor_(io), retry_(io), listener_(listener), tls_(std::move(tls)) {}

  template <class Endpoint>
  tl::expected<void, std::string> open(const Endpoint& endpoint) {
    boost::system::error_code error;
    acceptor_.open(endpoint.protocol(), error);
    const bool is_unix = endpoint.protocol().family() == AF_UNIX;
    if (!error && !is_unix) {
      acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    }
    // bind() gives the file the mode that the socket has, so no other user can connect even for a
    // moment. The umask would do the same, but for every thread of the process.
    if (!error && is_unix && ::fchmod(acceptor_.native_handle(), 0600) != 0) {
      return tl::unexpected(std::generic_category().message(errno));
    }
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) return tl::unexpected(error.message());
    return {};
  }

  // Uses a duplicate of a socket that listens already.
  tl::expected<void, std::string> adopt(FileDescriptor listening, const SocketProtocol& protocol) {
    boost::system::error_code error;
    acceptor_.assign(protocol, ::fcntl(listening.get(), F_DUPFD_CLOEXEC, 0), error);
    if (error) return tl::unexpected(error.message());
    return {};
  }

  // Stops accepting and returns the socket, which continues to listen.
  KeptSocket release() {
    boost::system::error_code ignored;
    retry_.cancel();
    return {address, FileDescriptor(acceptor_.release(ignored)), std::exchange(file, {})};
  }

  void accept() {
    acceptor_.async_accept([this](const boost::system::error_code& error, Socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (error) {
        // Most likely the process is out of descriptors, so wait until some are free.
        retry_.expires_after(std::chrono::milliseconds(50));
        retry_.async_wait([this](const boost::system::error_code& stopped) {
          if (!stopped) accept();
        });
        return;
      }
      ConnectionOrigin origin = origin_of(socket);
      if (!origin.is_tcp) {
        listener_.service_.identify_process(socket.native_handle(), origin.caller);
      }
      listener_.add(std::move(socket), std::move(origin), tls_);
      accept();
    });
  }

  void close() {
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    retry_.cancel();
    if (file) file->remove();
  }

  void use_tls(const TlsContext& tls) {
    if (tls_) tls_ = tls;
  }

  [[nodiscard]] std::string local_address() const {
    boost::system::error_code error;
    return address_text(acceptor_.local_endpoint(error));
  }

  std::string address;             // as configured
  std::optional<SocketFile> file;  // nullopt: a TCP socket

 private:
  asio::basic_socket_acceptor<SocketProtocol> acceptor_;
  asio::steady_timer retry_;
  Listener& listener_;
  TlsContext tls_;
};

Listener::Listener(asio::io_context& io, HttpService service, std::vector<KeptSocket> kept)
    : io_(io), service_(std::move(service)), kept_(std::move(kept)) {}

Listener::~Listener() = default;

// Returns the kept socket of this address; one without a descriptor if there is none.
KeptSocket Listener::take_kept(const std::string& address) {
  for (KeptSocket& each : kept_) {
    if (each.address == address) return std::move(each);
  }
  return {};
}

tl::expected<void, std::string> Listener::listen_unix(const std::filesystem::path& path) {
  auto acceptor = std::make_unique<Acceptor>(io_, *this, nullptr);
  acceptor->address = path.string();
  if (KeptSocket kept = take_kept(acceptor->address);
      kept.descriptor && kept.file && kept.file->is_there()) {
    const auto adopted = acceptor->adopt(std::move(kept.descriptor), SocketProtocol(AF_UNIX, 0));
    if (!adopted) return tl::unexpected(path.string() + ": " + adopted.error());
    acceptor->file = std::move(kept.file);
    acceptor->accept();
    acceptors_.push_back(std::move(acceptor));
    return {};
  }
  if (path.native().size() >= sizeof(sockaddr_un::sun_path)) {
    return tl::unexpected("a socket's path has at most " +
                          std::to_string(sizeof(sockaddr_un::sun_path) - 1) +
                          " bytes: " + path.string() + "; name a shorter one with --socket");
  }
  struct stat present {};
  if (lstat(path.c_str(), &present) == 0) {
    if (!S_ISSOCK(present.st_mode)) {
      return tl::unexpected(path.string() +
                            " is there and is not a socket: move it away, or name another path "
                            "with --socket");
    }
    if (somebody_listens(path)) {
      return tl::unexpected("another server listens at " + path.string() +
                            ": stop it, or name another path with --socket");
    }
    std::filesystem::remove(path);
  }
  auto opened = acceptor->open(
      SocketProtocol::endpoint(asio::local::stream_protocol::endpoint(path.string())));
  if (!opened) return tl::unexpected(path.string() + ": " + opened.error());
  if (const auto identity = identity_of(path)) acceptor->file = SocketFile{path, *identity};
  acceptor->accept();
  acceptors_.push_back(std::move(acceptor));
  return {};
}

tl::expected<std::string, std::string> Listener::listen_tcp(const std::string& address,
                                                            TlsContext tls) {
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
  if (!ip.is_loopback() && !tls) {
    return tl::unexpected(host +
                          " is not a loopback address: whoever reaches it could do "
                          "everything; listen on 127.0.0.1 or [::1]");
  }
  auto acceptor = std::make_unique<Acceptor>(io_, *this, std::move(tls));
  const asio::ip::tcp::endpoint endpoint(ip, port);
  acceptor->address = address;
  FileDescriptor kept = take_kept(address).descriptor;
  const auto opened = kept ? acceptor->adopt(std::move(kept), endpoint.protocol())
                           : acceptor->open(SocketProtocol::endpoint(endpoint));
  if (!opened) return tl::unexpected(address + ": " + opened.error());
  std::string local = acceptor->local_address();
  acceptor->accept();
  acceptors_.push_back(std::move(acceptor));
  return local;
}

OpenConnection::Ended Listener::forget() {
  return [this](const std::shared_ptr<OpenConnection>& ended) { connections_.erase(ended); };
}

void Listener::add(Socket socket, ConnectionOrigin origin, TlsContext tls) {
  if (connections_.size() >= connections_max) {
    boost::system::error_code ignored;
    socket.close(ignored);
    return;
  }
  // The Unix socket needs no timeout: those who reach it are trusted with more than an idle
  // connection.
  const std::int64_t patience_ms = origin.is_tcp ? first_byte_ms_max : 0;
  keep(std::make_shared<ProtocolDetector>(
      std::move(socket), patience_ms,
      [this, origin = std::move(origin), tls = std::move(tls)](Protocol protocol, Socket opened) {
        on_decided(protocol, std::move(opened), origin, tls);
      },
      forget()));
}

void Listener::on_decided(Protocol protocol, Socket socket, ConnectionOrigin origin,
                          TlsContext tls) {
  if (tls && protocol != Protocol::tls) return refuse_plain(socket, protocol);
  if (tls) {
    auto plain = start_tls(std::move(socket), tls);
    if (!plain) return;  // out of descriptors
    origin.is_encrypted = true;
    return add(std::move(*plain), std::move(origin), nullptr);
  }
  if (protocol == Protocol::http) {
    return keep(
        std::make_shared<HttpSession>(std::move(socket), std::move(origin), service_, forget()));
  }
  // TLS at an address without TLS is treated as lines, and answered with a parse error.
  keep(std::make_shared<Session>(std::move(socket), std::move(origin.caller), service_.handle_line,
                                 forget()));
}

void Listener::use_tls(const TlsContext& tls) {
  for (const auto& acceptor : acceptors_) acceptor->use_tls(tls);
}

std::vector<KeptSocket> Listener::hand_over() {
  std::vector<KeptSocket> kept;
  for (const auto& acceptor : acceptors_) kept.push_back(acceptor->release());
  return kept;
}

void Listener::finish() {
  for (const auto& acceptor : acceptors_) acceptor->close();
  const auto connections = connections_;
  for (const auto& connection : connections) connection->finish();
}

void Listener::close() {
  const auto connections = connections_;
  for (const auto& connection : connections) connection->close();
}

}  // namespace signalbox
