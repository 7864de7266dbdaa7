// What the transport needs of the service: who a line is from, the limits of connections, and what
// HTTP answers without a method.
#include <sys/resource.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "server/access/secret.h"
#include "server/executors/process/job_processes.h"
#include "server/limits.h"
#include "server/rpc/artifact_work.h"
#include "server/rpc/caller_shares.h"
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

tl::unexpected<Rejection> too_many_downloads() {
  return reject(ErrorCode::OVERLOADED,
                "too many of your downloads are under way; let some end first",
                {{"artifact_copies_of_caller_max",
                  static_cast<std::int64_t>(limits::artifact_copies_of_caller_max)}},
                {"signalbox status"});
}

// Opens an artifact for a download. `copies` has the shares of those that are copied for it.
void open_artifact(const Api& api, const CallerShares& copies, const std::string& caller,
                   const ArtifactPlace& place, const OpenedArtifact& then) {
  const std::string name = to_hex(place.sha256);
  run_artifact_work(
      api, caller, "download of " + name,
      [then](const Rejection& why) { then(tl::unexpected(why)); },
      [&api, copies, caller, place, then, name]() -> std::function<void()> {
        const bool may_copy = api.artifact_store.has_value();
        const std::shared_ptr<void> share = may_copy ? copies.take(caller) : nullptr;
        if (may_copy && !share) return [then] { then(too_many_downloads()); };
        Decided<std::shared_ptr<const OpenedBlob>> opened;
        if (auto found = api.artifacts.open_at(place)) {
          // What is no copy takes nothing from others.
          if (found->place) {
            found->place =
                std::make_shared<std::pair<std::shared_ptr<void>, std::shared_ptr<void>>>(
                    found->place, share);
          }
          opened = std::make_shared<const OpenedBlob>(*std::move(found));
        } else {
          opened = tl::unexpected(unreadable_artifact(api, name, found.error()));
        }
        return [then, opened = std::move(opened)] { then(opened); };
      });
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
          [this, copies = CallerShares(limits::artifact_copies_of_caller_max)](
              const std::string& caller, const ArtifactPlace& place, const OpenedArtifact& then) {
            open_artifact(api_, copies, caller, place, then);
          }};
}

}  // namespace signalbox
