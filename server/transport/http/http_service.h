// What HTTP sessions work with. Wired by the server.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "domain/error.h"
#include "server/access/caller.h"
#include "server/limits.h"
#include "server/platform/blocking_pool.h"
#include "server/rpc/peer.h"
#include "server/transport/http/host_rule.h"

namespace signalbox {

struct HttpService {
  // A line of the socket, by who its connection is.
  std::function<void(std::string_view line, const Caller& caller,
                     const std::shared_ptr<Peer>& peer)>
      handle_line;
  // The line that a request stands for, with the secret that came with it.
  std::function<void(std::string_view line, const Caller& caller,
                     std::optional<std::string_view> secret, const std::shared_ptr<Peer>& peer)>
      handle_request;
  // Why no command would be taken now, as `/readyz` tells; nullopt: it is ready.
  std::function<std::optional<Rejection>()> not_ready;
  BlockingPool blocking;
  HostRule host_rule;
  // Tests have less patience.
  std::int64_t header_ms_max = http_header_ms_max;
  std::int64_t body_ms_max = http_body_ms_max;
  std::int64_t idle_ms_max = http_idle_ms_max;
  std::int64_t write_ms_max = http_write_ms_max;
  std::int64_t event_stream_heartbeat_ms = event_stream_heartbeat_ms_max;
};

}  // namespace signalbox
