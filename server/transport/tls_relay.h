// TLS as a layer below the protocols: it ends here, and what it carried comes out of the other end
// of a socket pair, an ordinary connection for the first byte to decide on. So neither protocol
// knows of TLS, and the path of a plain connection stays as it is.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <boost/asio/ssl/context.hpp>
#include <tl/expected.hpp>

#include "server/transport/http/open_connection.h"

namespace signalbox {

// The server's certificate and key, and what of TLS it speaks: 1.2 and 1.3.
using TlsContext = std::shared_ptr<boost::asio::ssl::context>;

// Both are PEM files; the certificate's may hold its chain. An error is a sentence that names the
// file.
tl::expected<TlsContext, std::string> make_tls_context(const std::filesystem::path& certificate,
                                                       const std::filesystem::path& key);

// Begins the handshake on `outer`, whose peer has said its first bytes, and gives the plain end.
// The relay lives until either end closes: whoever closes the plain end ends the connection. A
// handshake that isn't done within tls_handshake_ms_max ends it, too.
tl::expected<OpenConnection::Socket, std::string> start_tls(OpenConnection::Socket outer,
                                                            TlsContext context);

}  // namespace signalbox
