// Terminates TLS below the protocols: a relay decrypts a connection into a socket pair, whose other
// end is an ordinary connection for the ProtocolDetector. So neither protocol knows of TLS, and
// connections without TLS take no detour. The relays run on a thread of their own.
#pragma once

#include <future>
#include <memory>
#include <string>
#include <thread>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <tl/expected.hpp>

#include "server/transport/http/open_connection.h"

namespace signalbox {

// The server's certificate and key, and its TLS settings: versions 1.2 and 1.3
// (server/tls_identity.h).
using TlsContext = std::shared_ptr<boost::asio::ssl::context>;

// The thread that runs all relays, with a lower priority than the others: a flood of handshakes,
// each of which costs about a millisecond, doesn't delay those who are connected.
class TlsThread {
 public:
  TlsThread();
  // Gives the relays that still have bytes to send up to tls_drain_ms_max. Blocks.
  ~TlsThread();

  // Begins the handshake on `outer`, whose peer has sent its first bytes, and returns the plain
  // end, a socket of `io`. The relay lives until either end closes; closing the plain end closes
  // the connection, at the latest when the peer has read nothing for twice tls_close_ms_max. It
  // also closes if the handshake takes longer than tls_handshake_ms_max. The error is a system
  // message.
  tl::expected<OpenConnection::Socket, std::string> start(OpenConnection::Socket outer,
                                                          TlsContext context,
                                                          boost::asio::io_context& io);

 private:
  void run();

  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::promise<void> ended_;
  std::thread thread_;
};

}  // namespace signalbox
