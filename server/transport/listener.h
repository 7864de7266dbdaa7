// Accepts connections on a Unix socket or a TCP address and keeps them: of both protocols,
// which are told apart by a connection's first byte, and of TLS where there is a certificate.
#pragma once

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <tl/expected.hpp>

#include "server/transport/http/http_service.h"
#include "server/transport/kept_socket.h"
#include "server/transport/protocol_detector.h"
#include "server/transport/session.h"
#include "server/transport/tls_relay.h"

namespace signalbox {

class Listener {
 public:
  // What listened before and was kept listens on, at the same address; the rest of `kept` is
  // closed.
  Listener(boost::asio::io_context& io, HttpService service, std::vector<KeptSocket> kept = {});
  ~Listener();

  // Takes the path over from a server that is gone (the data directory's lock has told that no
  // other one lives), mode 0600. An error is a sentence.
  tl::expected<void, std::string> listen_unix(const std::filesystem::path& path);
  // "127.0.0.1:7070", "[::1]:7070". An address that isn't loopback needs `tls`. With it nothing
  // but TLS is taken there.
  tl::expected<std::string, std::string> listen_tcp(const std::string& address,
                                                    TlsContext tls = nullptr);

  // Accepts no more, and what connects from now on waits for who listens with what this gives.
  std::vector<KeptSocket> hand_over();
  // Accepts no more and lets the sessions end once they are answered.
  void finish();
  // Ends all sessions now.
  void close();
  // Of all kinds: connections_max bounds them together.
  [[nodiscard]] std::size_t connections() const { return connections_.size(); }

 private:
  class Acceptor;

  using Socket = OpenConnection::Socket;

  void add(Socket socket, ConnectionOrigin origin, TlsContext tls);
  void on_decided(Protocol protocol, Socket socket, ConnectionOrigin origin, TlsContext tls);
  template <class C>
  void keep(const std::shared_ptr<C>& connection) {
    connections_.insert(connection);
    connection->start();
  }
  [[nodiscard]] OpenConnection::Ended forget();

  boost::asio::io_context& io_;
  [[nodiscard]] KeptSocket take_kept(const std::string& address);

  HttpService service_;
  std::vector<KeptSocket> kept_;
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
  std::set<std::shared_ptr<OpenConnection>> connections_;
};

}  // namespace signalbox
