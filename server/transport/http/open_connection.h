// What the listener keeps of a connection, whatever is spoken on it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <boost/asio/generic/stream_protocol.hpp>

#include "server/access/caller.h"

namespace signalbox {

class OpenConnection {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;
  // Called once, when the connection is gone or has become another object.
  using Ended = std::function<void(const std::shared_ptr<OpenConnection>&)>;

  virtual ~OpenConnection() = default;

  // Takes no more requests; closes when what was asked is answered.
  virtual void finish() = 0;
  virtual void close() = 0;
};

// Who is at the other end, as the transport tells.
struct ConnectionOrigin {
  Caller caller;
  std::string local_address;  // of TCP, without the port and without brackets; else empty
  bool is_tcp = false;
  bool is_encrypted = false;
};

}  // namespace signalbox
