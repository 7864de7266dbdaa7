// A connection whose protocol isn't known yet. Its first byte decides, once: `{` or white space
// is a line of JSON-RPC, a letter is HTTP, 0x16 is TLS. The byte is looked at and not taken, so
// that what follows starts at the beginning.
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

  // With `patience_ms` > 0 a connection that says nothing for so long is closed. `ended` is called
  // before `decided` gets the socket.
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

// What a connection speaks that begins with this byte. What nobody speaks counts as a line: its
// answer says what is wrong.
Protocol protocol_of(char first_byte);

}  // namespace signalbox
