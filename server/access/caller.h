// The identity of a connection's other end: what the kernel reports about it, and the access token
// that it has shown since.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "domain/ids.h"
#include "server/access/secret.h"

namespace signalbox {

// Returns whether a process of user `uid` is the server's own user's, or root's.
inline bool is_owner(std::uint32_t uid, std::uint32_t server_uid) {
  return uid == server_uid || uid == 0;
}

// Returns whether an actor is known by its address alone: one client may have many of those.
inline bool is_address(std::string_view actor) { return actor.starts_with("tcp:"); }

struct Caller {
  std::optional<std::uint32_t> uid;  // of a Unix socket's peer
  std::string address;               // of a TCP peer, without its port: "127.0.0.1", "::1"
  bool loopback = false;             // the TCP peer's address is a loopback one
  std::optional<Uuid> token_id;      // of the access token that it gave to `server.authenticate`
  std::optional<std::string> shown_job_id;  // of the job whose secret it gave to that method
  // The job of this service to which the peer's process belongs. Its directory's name.
  std::optional<std::string> job_id = {};
  bool process_is_gone = false;  // it ended before it was examined

  // Returns the actor name that records get as long as no token was shown.
  [[nodiscard]] std::string actor() const {
    if (job_id) return actor_of_job(*job_id);
    return uid ? "uid:" + std::to_string(*uid) : "tcp:" + address;
  }
};

}  // namespace signalbox
