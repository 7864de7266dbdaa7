// Detects the protocol of a new connection by its first byte: `{` or white space begins a line of
// JSON-RPC, a letter is HTTP, 0x16 is a TLS handshake. The byte is peeked and not consumed, so the
// session for the protocol reads it again.
#pragma once

#include <functional>
#include <memory>

#include <boost/asio/steady_timer.hpp>

#include "server/transport/http/open_connection.h"

namespace signalbox {

enum class Protocol { lines, http, tls };

class ProtocolDetector final : public OpenConnection,
                               public std::enable_shared_from_this<ProtocolDetector> {
 public:
  using Decided = std::function<void(Protocol protocol, Socket socket)>;

  // Calls `decided` once, with the protocol and the socket, or never if the connection ends first.
  // With `patience_ms` > 0 a connection that sends nothing for that time is closed. `ended` is
  // called in both cases, before `decided`.
  ProtocolDetector(Socket socket, std::int64_t patience_ms, Decided decided, Ended ended);

  void start();
  void finish() override { close(); }
  void close() override;

 private:
  void detect();

  Socket socket_;
  const std::int64_t patience_ms_;
  Decided decided_;
  Ended ended_;
  boost::asio::steady_timer timer_;
  bool done_ = false;
};

// Returns the protocol of a connection that begins with this byte. Unknown bytes count as lines,
// because the answer to a malformed line says what is wrong.
Protocol protocol_of(char first_byte);

}  // namespace signalbox
