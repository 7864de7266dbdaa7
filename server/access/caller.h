// The other end of a connection, as the kernel tells it, and what it has shown since.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "domain/ids.h"

namespace signalbox {

struct Caller {
  std::optional<std::uint32_t> uid;  // of a Unix socket's peer
  std::string address;               // of a TCP peer, without its port: "127.0.0.1", "::1"
  bool loopback = false;             // the TCP peer's address is one
  std::optional<Uuid> token_id;      // of the access token that `server.authenticate` was given

  // The name under which it stands in the log while it has shown no token.
  [[nodiscard]] std::string actor() const {
    return uid ? "uid:" + std::to_string(*uid) : "tcp:" + address;
  }
};

}  // namespace signalbox
