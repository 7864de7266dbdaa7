#include "server/transport/listener.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "server/access/access_settings.h"
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

constexpr std::chrono::seconds sweep_interval{1};
constexpr std::chrono::milliseconds burst_interval{2};
// A TCP client that went away without a word, or closed its connection while the server had nothing
// to send, is noticed after this time: its kernel, or nobody, answers the probes.
constexpr int keepalive_idle_seconds = 60;
constexpr int keepalive_interval_seconds = 15;
constexpr int keepalive_probes_max = 4;
constexpr std::size_t newcomers_in_burst =
    newcomers_per_second_max * static_cast<std::size_t>(burst_interval.count()) / 1000;

asio::ip::address address_of(const SocketProtocol::endpoint& generic) {
  asio::ip::tcp::endpoint endpoint;
  endpoint.resize(generic.size());
  std::memcpy(endpoint.data(), generic.data(), generic.size());
  return endpoint.address();
}

void probe_when_idle(int socket) {
  const auto set = [socket](int level, int option, int value) {
    (void)::setsockopt(socket, level, option, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_KEEPIDLE, keepalive_idle_seconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, keepalive_interval_seconds);
  set(IPPROTO_TCP, TCP_KEEPCNT, keepalive_probes_max);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
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
  // Each write is all that there is to say now. Nagle's algorithm would keep a small one back until
  // the peer has acknowledged those before, which takes an event 40 ms.
  boost::system::error_code ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  probe_when_idle(socket.native_handle());
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

// Sends a last answer and closes the connection.
void answer_and_close(Socket& socket, const std::string& text) {
  boost::system::error_code ignored;
  socket.send(asio::buffer(text), MSG_NOSIGNAL, ignored);
  socket.shutdown(Socket::shutdown_send, ignored);
  // Closing with unread input would send a reset, which discards the answer at the peer. One that
  // sends more than any greeting of these protocols has may get that reset.
  char unread[4096];
  for (int reads = 0; reads < 16; ++reads) {
    if (::recv(socket.native_handle(), unread, sizeof unread, MSG_DONTWAIT) <= 0) break;
  }
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
  answer_and_close(socket, text);
}

// Answers the beginning of TLS at an address without it. No line break that the client is going to
// send could be waited for; clients of TLS call the answer a wrong version.
void refuse_tls(Socket& socket) {
  const Rejection refusal{
      ErrorCode::NOT_ALLOWED, "this address takes no TLS", {}, {"signalbox serve --help"}};
  answer_and_close(socket, error_line("null", refusal) + "\n");
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
  tl::expected<void, boost::system::error_code> open(const Endpoint& endpoint) {
    boost::system::error_code error;
    acceptor_.open(endpoint.protocol(), error);
    const bool is_unix = endpoint.protocol().family() == AF_UNIX;
    if (!error && !is_unix) {
      acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    }
    // bind() gives the file the mode that the socket has, so no other user can connect even for a
    // moment. The umask would do the same, but for every thread of the process.
    if (!error && is_unix && ::fchmod(acceptor_.native_handle(), 0600) != 0) {
      return tl::unexpected(boost::system::error_code(errno, boost::system::generic_category()));
    }
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) return tl::unexpected(error);
    return {};
  }

  void accept() {
    acceptor_.async_accept([this](const boost::system::error_code& error, Socket socket) {
      // close() can't take back a connection that had already been accepted.
      if (error == asio::error::operation_aborted || !acceptor_.is_open()) return;
      if (error) {
        // Most likely the process is out of descriptors: free one, and wait in any case, so that
        // this doesn't repeat without end.
        const bool none_left = error == asio::error::no_descriptors ||
                               error == boost::system::errc::too_many_files_open_in_system;
        if (none_left) listener_.admission_->free_descriptor();
        return accept_after(std::chrono::milliseconds(50));
      }
      listener_.accepted(std::move(socket), tls_);
      const bool is_crowded = !file && listener_.admission_->is_crowded();
      if (is_crowded && ++in_burst_ >= newcomers_in_burst) return accept_after(burst_interval);
      accept();
    });
  }

  void accept_after(std::chrono::milliseconds pause) {
    in_burst_ = 0;
    retry_.expires_after(pause);
    retry_.async_wait([this](const boost::system::error_code& stopped) {
      if (!stopped && acceptor_.is_open()) accept();
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

  std::optional<SocketFile> file;  // nullopt: a TCP socket

 private:
  asio::basic_socket_acceptor<SocketProtocol> acceptor_;
  asio::steady_timer retry_;
  Listener& listener_;
  TlsContext tls_;
  std::size_t in_burst_ = 0;  // accepted since the last pause
};

Listener::Listener(asio::io_context& io, HttpService service)
    : io_(io),
      service_(std::move(service)),
      admission_(std::make_shared<Admission>(
          Admission::Parts{
              [&io](std::function<void()> action) { asio::post(io, std::move(action)); },
              [] { return std::chrono::steady_clock::now(); }, service_.warn},
          service_.connection_limits)),
      sweep_timer_(io) {}

Listener::~Listener() = default;

tl::expected<void, std::string> Listener::listen_unix(const std::filesystem::path& path) {
  auto acceptor = std::make_unique<Acceptor>(io_, *this, nullptr);
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
  if (!opened)
    return tl::unexpected("can't listen at " + path.string() + ": " + opened.error().message());
  if (const auto identity = identity_of(path)) acceptor->file = SocketFile{path, *identity};
  acceptor->accept();
  acceptors_.push_back(std::move(acceptor));
  return {};
}

tl::expected<std::string, ListenError> Listener::listen_tcp(const std::string& address,
                                                            TlsContext tls) {
  const auto parsed = parse_tcp_address(address);
  if (!parsed) {
    return tl::unexpected(
        ListenError{"--listen takes an address and a port, such as 127.0.0.1:7070"});
  }
  const asio::ip::address ip = asio::ip::make_address(parsed->host);
  if (!ip.is_loopback() && !tls) {
    return tl::unexpected(ListenError{parsed->host +
                                      " is not a loopback address: whoever reaches it could do "
                                      "everything; listen on 127.0.0.1 or [::1]"});
  }
  if (tls && !tls_thread_) tls_thread_ = std::make_unique<TlsThread>();
  auto acceptor = std::make_unique<Acceptor>(io_, *this, std::move(tls));
  const asio::ip::tcp::endpoint endpoint(ip, parsed->port);
  const auto opened = acceptor->open(SocketProtocol::endpoint(endpoint));
  if (!opened) {
    const boost::system::error_code& why = opened.error();
    const bool may_pass =
        why == asio::error::address_in_use || why == boost::system::errc::address_not_available;
    return tl::unexpected(
        ListenError{"can't listen at " + address + ": " + why.message(), may_pass});
  }
  std::string local = acceptor->local_address();
  acceptor->accept();
  acceptors_.push_back(std::move(acceptor));
  return local;
}

OpenConnection::Ended Listener::forget() {
  return [this](const std::shared_ptr<OpenConnection>& ended) { connections_.erase(ended); };
}

void Listener::accepted(Socket socket, TlsContext tls) {
  ConnectionOrigin origin = origin_of(socket);
  if (!origin.is_tcp) service_.identify_process(socket.native_handle(), origin.caller);
  origin.place = admission_->admit(origin.caller, tls != nullptr);
  schedule_sweep();
  if (!origin.place) return;  // the socket's destructor closes it
  add(std::move(socket), std::move(origin), std::move(tls));
}

void Listener::schedule_sweep() {
  if (std::exchange(sweeping_, true)) return;
  sweep_timer_.expires_after(sweep_interval);
  sweep_timer_.async_wait([this](const boost::system::error_code& stopped) {
    if (stopped) return;
    sweeping_ = false;
    admission_->sweep();
    if (!admission_->idle()) schedule_sweep();
  });
}

void Listener::add(Socket socket, ConnectionOrigin origin, TlsContext tls) {
  const std::int64_t patience_ms = origin.place->is_owner() ? 0 : first_byte_ms_max;
  const auto place = origin.place;
  keep(std::make_shared<ProtocolDetector>(
      std::move(socket), patience_ms, place,
      [this, origin = std::move(origin), tls = std::move(tls)](Protocol protocol, Socket opened) {
        on_decided(protocol, std::move(opened), origin, tls);
      },
      forget()));
}

void Listener::on_decided(Protocol protocol, Socket socket, ConnectionOrigin origin,
                          TlsContext tls) {
  if (tls && protocol != Protocol::tls) return refuse_plain(socket, protocol);
  if (tls) {
    auto plain = tls_thread_->start(std::move(socket), std::move(tls), io_);
    if (!plain) return;  // out of descriptors
    origin.is_encrypted = true;
    return add(std::move(*plain), std::move(origin), nullptr);
  }
  if (protocol == Protocol::http) {
    return keep(
        std::make_shared<HttpSession>(std::move(socket), std::move(origin), service_, forget()));
  }
  if (protocol == Protocol::tls) return refuse_tls(socket);
  keep(std::make_shared<Session>(std::move(socket), std::move(origin), service_.handle_line,
                                 service_.output_ended,
                                 std::chrono::milliseconds(service_.close_grace_ms), forget()));
}

void Listener::use_tls(const TlsContext& tls) {
  for (const auto& acceptor : acceptors_) acceptor->use_tls(tls);
}

void Listener::finish() {
  for (const auto& acceptor : acceptors_) acceptor->close();
  const auto connections = connections_;
  for (const auto& connection : connections) connection->finish();
}

bool Listener::is_answering() const {
  return std::any_of(connections_.begin(), connections_.end(),
                     [](const auto& connection) { return connection->is_answering(); });
}

void Listener::close() {
  const auto connections = connections_;
  for (const auto& connection : connections) connection->close();
  sweep_timer_.cancel();
  tls_thread_.reset();
}

}  // namespace signalbox
