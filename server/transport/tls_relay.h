// TLS as a layer below the protocols: it ends here, and what it carried comes out of the other end
// of a socket pair, an ordinary connection for the first byte to decide on. So neither protocol
// knows of TLS, and the path of a plain connection stays as it is.
#pragma once

#include <string>

#include <tl/expected.hpp>

#include "server/transport/http/open_connection.h"
#include "server/transport/tls_context.h"

namespace signalbox {

// Begins the handshake on `outer`, whose peer has said its first bytes, and gives the plain end.
// The relay lives until either end closes: whoever closes the plain end ends the connection. A
// handshake that isn't done within tls_handshake_ms_max ends it, too.
tl::expected<OpenConnection::Socket, std::string> start_tls(OpenConnection::Socket outer,
                                                            TlsContext context);

}  // namespace signalbox
