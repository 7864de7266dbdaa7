// Accepts connections on a Unix socket or a TCP address and owns them. A connection's first byte
// decides between JSON-RPC lines and HTTP, and TLS where there is a certificate.
//
// All calls come from the engine thread.
#pragma once

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <tl/expected.hpp>

#include "server/transport/http/admission.h"
#include "server/transport/http/http_service.h"
#include "server/transport/protocol_detector.h"
#include "server/transport/session.h"
#include "server/transport/socket_file.h"
#include "server/transport/tls_relay.h"

namespace signalbox {

// Why there is no listening at an address.
struct ListenError {
  std::string message;    // a sentence
  bool may_pass = false;  // the address isn't there yet, or another process still has it
};

class Listener {
 public:
  Listener(boost::asio::io_context& io, HttpService service);
  ~Listener();

  // Listens on a Unix socket at `path`, mode 0600. Replaces the socket of a server that is gone;
  // the lock of the data directory has shown that no other one runs. The error is a sentence.
  tl::expected<void, std::string> listen_unix(const std::filesystem::path& path);
  // Listens on a TCP address such as "127.0.0.1:7070" or "[::1]:7070" and returns the bound
  // address. An address that isn't loopback needs `tls`; with `tls`, other connections are refused.
  tl::expected<std::string, ListenError> listen_tcp(const std::string& address,
                                                    TlsContext tls = nullptr);

  // Uses this certificate for connections from now on, at each address that has TLS. Connections
  // that are there keep theirs.
  void use_tls(const TlsContext& tls);
  // Accepts requests for these host names from now on.
  void use_host_rule(HostRule rule) { service_.host_rule = std::move(rule); }

  // Stops accepting; each connection closes once its requests are answered.
  void finish();
  // Returns true while a connection has a request that is being answered, or its peer hasn't got
  // the whole answer.
  [[nodiscard]] bool is_answering() const;
  // Closes all connections now.
  void close();
  // Applies these limits from now on. Connections beyond them stay open.
  void use_limits(Admission::Limits limits) { admission_->set_limits(limits); }
  // Returns the number of connections of all protocols.
  [[nodiscard]] std::size_t connections() const { return connections_.size(); }
  [[nodiscard]] ConnectionFigures figures() const { return admission_->figures(); }

 private:
  class Acceptor;

  using Socket = OpenConnection::Socket;

  void accepted(Socket socket, TlsContext tls);
  void add(Socket socket, ConnectionOrigin origin, TlsContext tls);
  void schedule_sweep();
  void on_decided(Protocol protocol, Socket socket, ConnectionOrigin origin, TlsContext tls);
  template <class C>
  void keep(const std::shared_ptr<C>& connection) {
    connections_.insert(connection);
    connection->start();
  }
  [[nodiscard]] OpenConnection::Ended forget();

  boost::asio::io_context& io_;
  HttpService service_;
  const std::shared_ptr<Admission> admission_;
  boost::asio::steady_timer sweep_timer_;
  bool sweeping_ = false;                  // sweep_timer_ is set
  std::unique_ptr<TlsThread> tls_thread_;  // nullptr: no address has TLS
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
  std::set<std::shared_ptr<OpenConnection>> connections_;
};

}  // namespace signalbox
