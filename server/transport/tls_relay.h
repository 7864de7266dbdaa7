// Terminates TLS below the protocols: a relay decrypts a connection into a socket pair, whose other
// end is an ordinary connection for the ProtocolDetector. So neither protocol knows of TLS, and
// connections without TLS take no detour.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <boost/asio/ssl/context.hpp>
#include <tl/expected.hpp>

#include "server/transport/http/open_connection.h"

namespace signalbox {

// The server's certificate and key, and its TLS settings: versions 1.2 and 1.3.
using TlsContext = std::shared_ptr<boost::asio::ssl::context>;

// Reads certificate and key from PEM files; the certificate's file may hold its chain. The error is
// a sentence that names the file. Blocks on the files.
tl::expected<TlsContext, std::string> make_tls_context(const std::filesystem::path& certificate,
                                                       const std::filesystem::path& key);

// Begins the handshake on `outer`, whose peer has sent its first bytes, and returns the plain end.
// The relay lives until either end closes; closing the plain end closes the connection. It also
// closes if the handshake takes longer than tls_handshake_ms_max. The error is a system message.
tl::expected<OpenConnection::Socket, std::string> start_tls(OpenConnection::Socket outer,
                                                            TlsContext context);

}  // namespace signalbox
