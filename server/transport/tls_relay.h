// Terminates TLS below the protocols: a relay decrypts a connection into a socket pair, whose other
// end is an ordinary connection for the ProtocolDetector. So neither protocol knows of TLS, and
// connections without TLS take no detour.
#pragma once

#include <memory>
#include <string>

#include <boost/asio/ssl/context.hpp>
#include <tl/expected.hpp>

#include "server/transport/http/open_connection.h"

namespace signalbox {

// The server's certificate and key, and its TLS settings: versions 1.2 and 1.3
// (server/tls_identity.h).
using TlsContext = std::shared_ptr<boost::asio::ssl::context>;

// Begins the handshake on `outer`, whose peer has sent its first bytes, and returns the plain end.
// The relay lives until either end closes; closing the plain end closes the connection. It also
// closes if the handshake takes longer than tls_handshake_ms_max. The error is a system message.
tl::expected<OpenConnection::Socket, std::string> start_tls(OpenConnection::Socket outer,
                                                            TlsContext context);

}  // namespace signalbox
