// Detects the protocol of a new connection by its first byte: `{` or a space begins a line of
// JSON-RPC, a letter is HTTP, 0x16 is a TLS handshake. The byte is peeked and not consumed, so the
// session for the protocol reads it again.
//
// Line breaks decide nothing: both protocols ignore empty lines (RFC 9112, section 2.2), so the
// ones at the beginning are consumed here, up to empty_lines_bytes_max.
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
  // called in both cases, before `decided`. `place` is of this connection.
  ProtocolDetector(Socket socket, std::int64_t patience_ms, std::shared_ptr<Admission::Place> place,
                   Decided decided, Ended ended);

  void start();
  void finish() override { close(); }
  [[nodiscard]] bool is_answering() const override { return false; }
  void close() override;

 private:
  void detect();

  Socket socket_;
  const std::int64_t patience_ms_;
  const std::shared_ptr<Admission::Place> place_;
  std::size_t empty_bytes_ = 0;  // consumed line breaks
  bool after_cr_ = false;        // the last of them is a CR
  Decided decided_;
  Ended ended_;
  boost::asio::steady_timer timer_;
  bool done_ = false;
};

// Returns the protocol of a connection that begins with this byte. Unknown bytes count as lines,
// because the answer to a malformed line says what is wrong.
Protocol protocol_of(char first_byte);

}  // namespace signalbox
