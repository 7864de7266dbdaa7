// The dependencies and settings of HTTP sessions. Server fills them in; all callbacks are called on
// the engine thread.
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
#include "server/platform/artifact_store.h"
#include "server/platform/blocking_pool.h"
#include "server/rpc/kept_output.h"
#include "server/rpc/peer.h"
#include "server/transport/http/admission.h"
#include "server/transport/http/host_rule.h"

namespace signalbox {

// Takes the content of an artifact, or why it can't be had.
using OpenedArtifact = std::function<void(const Decided<std::shared_ptr<const OpenedBlob>>&)>;

struct HttpService {
  // Handles a line of a JSON-RPC connection. `caller` is the identity of the connection.
  std::function<void(std::string_view line, const Caller& caller,
                     const std::shared_ptr<Peer>& peer)>
      handle_line;
  // Handles the line that an HTTP request was translated to, with the request's secret, if any.
  std::function<void(std::string_view line, const Caller& caller,
                     std::optional<std::string_view> secret, const std::shared_ptr<Peer>& peer)>
      handle_request;
  // Returns why commands are refused now, for `/readyz`; nullopt if the service is ready.
  std::function<std::optional<Rejection>()> not_ready;
  BlockingPool blocking;     // files
  BlockingPool compression;  // of answers; apart from files, whose disks may be slow
  HostRule host_rule;
  // Completes the identity of a Unix socket's peer by its process: whether it is a job's.
  std::function<void(int socket, Caller& caller)> identify_process = [](int, Caller&) {};
  // Writes a warning to the server's log.
  std::function<void(const std::string&)> warn = [](const std::string&) {};
  Admission::Limits connection_limits = {};
  // Returns why a request with this secret, if any, is refused whatever it asks for: its sender
  // isn't authenticated. nullopt if its body is to be read.
  std::function<std::optional<Rejection>(const Caller& caller,
                                         std::optional<std::string_view> secret)>
      stranger_refusal =
          [](const Caller&, std::optional<std::string_view>) { return std::nullopt; };
  // Refuses a request of which only the header was read. `method` is empty if the body names it.
  std::function<void(std::string_view method, const Caller& caller, const Rejection& why,
                     const std::shared_ptr<Peer>& peer)>
      refuse_unread = {};
  // Returns the OpenRPC document of the methods, for `/openrpc.json`; valid as long as this object.
  std::function<std::string_view()> openrpc = [] { return std::string_view(); };
  // Reads what jobs printed. Called on threads of `blocking`.
  OutputReader read_output = [](const std::string&, std::string_view, std::uint64_t, std::size_t) {
    return std::nullopt;
  };
  // Called when a connection of lines has closed, or over TCP has ended its output, while requests
  // of it wait to be answered.
  std::function<void(const Peer& peer)> output_ended = [](const Peer&) {};
  // Opens the content of an artifact, which `caller` downloads, for `then`, which is called on the
  // engine's thread.
  std::function<void(const std::string& caller, const ArtifactPlace& place,
                     const OpenedArtifact& then)>
      open_artifact = [](const std::string&, const ArtifactPlace&, const OpenedArtifact& then) {
        then(
            tl::unexpected(Rejection{ErrorCode::INTERNAL, "nothing keeps artifacts here", {}, {}}));
      };
  // Deadlines in ms; tests set others.
  std::int64_t header_ms_max = http_header_ms_max;
  std::int64_t body_ms_max = http_body_ms_max;
  std::int64_t idle_ms_max = http_idle_ms_max;
  std::int64_t write_ms_max = http_write_ms_max;
  std::int64_t event_stream_heartbeat_ms = event_stream_heartbeat_ms_max;
  // For what is left to be read of a connection that is being closed.
  std::int64_t close_grace_ms = 5000;
  // Between two writes to a screen (SseForm), which shows one picture or two in that time: of
  // events that come fast, a write has several. Tests set a longer one.
  std::int64_t screen_write_interval_ms = 25;
};

}  // namespace signalbox
