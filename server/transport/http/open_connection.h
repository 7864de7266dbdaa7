// The interface by which the listener owns a connection of any protocol.
#pragma once

#include <poll.h>

#include <functional>
#include <memory>
#include <string>

#include <boost/asio/generic/stream_protocol.hpp>

#include "server/access/caller.h"
#include "server/transport/http/admission.h"

namespace signalbox {

class OpenConnection {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;
  // Called once, when the connection has closed or its socket has passed to another object.
  using Ended = std::function<void(const std::shared_ptr<OpenConnection>&)>;

  virtual ~OpenConnection() = default;

  // Accepts no more requests, and closes once those under way are answered.
  virtual void finish() = 0;
  // Returns true while a request is being answered, or an answer is being sent.
  [[nodiscard]] virtual bool is_answering() const = 0;
  // Closes the connection now.
  virtual void close() = 0;
};

// Returns true if the peer of a socket has closed the connection. On a Unix socket this
// distinguishes that from one that has only ended its output, and still reads; over TCP it can't,
// and doesn't count that unless `counts_end_of_output`.
inline bool has_hung_up(int socket, bool counts_end_of_output = false) {
  pollfd state{socket, static_cast<short>(counts_end_of_output ? POLLRDHUP : 0), 0};
  return ::poll(&state, 1, 0) > 0;  // POLLHUP, POLLERR: always reported
}

// The peer of a connection and how it is connected, as the transport knows it.
struct ConnectionOrigin {
  Caller caller;
  std::string local_address;  // the address the peer connected to, without port; empty: no TCP
  bool is_tcp = false;
  bool is_encrypted = false;
  std::shared_ptr<Admission::Place> place;
};

}  // namespace signalbox
