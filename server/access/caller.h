// The identity of a connection's other end: what the kernel reports about it, and the access token
// that it has shown since.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "domain/ids.h"

namespace signalbox {

struct Caller {
  std::optional<std::uint32_t> uid;  // of a Unix socket's peer
  std::string address;               // of a TCP peer, without its port: "127.0.0.1", "::1"
  bool loopback = false;             // the TCP peer's address is a loopback one
  std::optional<Uuid> token_id;      // of the access token that it gave to `server.authenticate`

  // Returns the actor name that records get as long as no token was shown.
  [[nodiscard]] std::string actor() const {
    return uid ? "uid:" + std::to_string(*uid) : "tcp:" + address;
  }
};

}  // namespace signalbox
