// What the transport needs of the service: who a line is from, the limits of connections, and what
// HTTP answers without a method.
#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "server/access/secret.h"
#include "server/executors/process/job_processes.h"
#include "server/limits.h"
#include "server/rpc/kept_output.h"
#include "server/rpc/methods/openrpc.h"
#include "server/server.h"
#include "server/transport/http/openapi.h"

namespace signalbox {
namespace {

Rejection too_many_connections(const std::string& actor, std::size_t allowed) {
  return {
      ErrorCode::OVERLOADED,
      actor + " has " + std::to_string(allowed) + " connections, as many as one caller may have",
      {{"caller_connections_max", static_cast<std::int64_t>(allowed)}},
      {"signalbox server limits"}};
}

}  // namespace

// Connections get the descriptors that the log, the jobs and other files leave.
Admission::Limits Server::connection_limits(const Config& config) {
  Admission::Limits limits;
  limits.connections = config.connections_max;
  limits.caller_connections = config.caller_connections_max;
  rlimit descriptors{};
  if (getrlimit(RLIMIT_NOFILE, &descriptors) == 0) {
    limits.descriptors = std::max<std::size_t>(descriptors.rlim_cur, 2 * file_descriptors_max) -
                         file_descriptors_max;
  }
  return limits;
}

void Server::handle(std::string_view line, const Caller& caller,
                    const Decided<Principal>& principal, const std::shared_ptr<Peer>& peer) {
  // Comes before any lease is evaluated: this process itself may have been stopped meanwhile.
  check_clocks();
  if (principal && !peer->identify(principal->actor)) {
    dispatcher_.refuse(
        line, too_many_connections(principal->actor, api_.facts.caller_connections_max), peer);
  } else if (principal) {
    dispatcher_.handle(line, *principal, peer);
  } else {
    dispatcher_.handle_unknown(line, caller.actor(), principal.error(), peer);
  }
}

HttpService Server::http_service() {
  return {[this](std::string_view line, const Caller& caller, const std::shared_ptr<Peer>& peer) {
            handle(line, caller, authentication_.of(caller), peer);
          },
          [this](std::string_view line, const Caller& caller,
                 std::optional<std::string_view> secret, const std::shared_ptr<Peer>& peer) {
            handle(line, caller, authentication_.of(caller, secret), peer);
          },
          [this] { return not_ready(); },
          blocking_pool(lanes_.files, /*while_serving=*/false),
          blocking_pool(lanes_.compressions, /*while_serving=*/false),
          HostRule(config_.http_hosts),
          [this](int socket, Caller& caller) {
            const auto job_of = [this](std::string_view secret) {
              return job_of_secret(job_key_, secret);
            };
            ProcessJob found = job_of_peer(socket, config_.data / "jobs", job_of);
            caller.job_id = std::move(found.job_id);
            caller.process_is_gone = found.process_is_gone;
          },
          [this](const std::string& text) { logger_.warn("{}", text); },
          connection_limits(config_),
          [this](const Caller& caller,
                 std::optional<std::string_view> secret) -> std::optional<Rejection> {
            auto principal = authentication_.of(caller, secret);
            if (principal) return std::nullopt;
            return std::move(principal.error());
          },
          [this](std::string_view method, const Caller& caller, const Rejection& why,
                 const std::shared_ptr<Peer>& peer) {
            check_clocks();
            dispatcher_.refuse_unread(method, caller.actor(), why, peer);
          },
          [this, text = std::string()]() mutable -> std::string_view {
            if (text.empty()) text = openrpc_document(dispatcher_.methods(), openapi_text());
            return text;
          },
          output_reader(config_.data),
          [this](const Peer& peer) {
            locks_.leave(peer);
            claims_.leave(peer);
            steps_.leave(peer);
          },
          [this](const ArtifactPlace& place, const OpenedArtifact& then) {
            open_artifact(place, then);
          }};
}

}  // namespace signalbox
