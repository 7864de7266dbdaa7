#include "server/transport/http/route.h"

#include <array>
#include <optional>

#include "server/transport/http/route_views.h"

namespace signalbox {
namespace {

constexpr std::string_view command = "command_id";

constexpr std::array<Route, 29> table = {{
    {"POST", "/v1/runs", "run.start", RouteKind::call, 202, "idempotency_key", show_started_run},
    {"GET", "/v1/runs", "run.list", RouteKind::call, 200, {}, show_run_page},
    {"GET", "/v1/runs/{run_id}", "run.get"},
    {"GET", "/v1/runs/{run_id}/why", "run.why"},
    {"GET", "/v1/runs/{run_id}/diff", "run.diff"},
    {"GET", "/v1/runs/{run_id}/log", "run.log"},
    {"GET", "/v1/runs/{run_id}/output", "run.log", RouteKind::output},
    {"POST", "/v1/runs/{run_id}/cancel", "run.cancel", RouteKind::call, 200, command},
    {"POST", "/v1/runs/{run_id}/pause", "run.pause", RouteKind::call, 200, command},
    {"POST", "/v1/runs/{run_id}/resume", "run.resume", RouteKind::call, 200, command},
    {"POST", "/v1/runs/{run_id}/retry", "run.retry", RouteKind::call, 200, command},
    {"GET", "/v1/runs/{run_id}/artifacts", "run.get", RouteKind::call, 200, {}, show_artifacts},
    {"GET",
     "/v1/runs/{run_id}/artifacts/{name}",
     "run.artifact",
     RouteKind::download,
     200,
     {},
     nullptr,
     true},
    {"PUT", "/v1/projects/{name}", "project.put", RouteKind::put, 200, command},
    {"POST", "/v1/cards/{card_id}/priority", "card.set_priority", RouteKind::call, 200, command},
    {"GET", "/v1/events", "events.subscribe", RouteKind::stream},
    {"GET", "/v1/audit/records", "audit.records"},
    {"GET", "/audit/checkpoint", "audit.checkpoint", RouteKind::call, 200, {}, show_checkpoint},
    {"GET", "/audit/tile/{path}", "audit.tile", RouteKind::call, 200, {}, show_tile, true},
    {"POST", "/rpc", {}, RouteKind::rpc},
    {"GET", "/metrics", "server.metrics", RouteKind::call, 200, {}, show_metrics},
    {"GET", "/healthz", {}, RouteKind::alive},
    {"GET", "/readyz", {}, RouteKind::ready},
    {"GET", "/version", {}, RouteKind::version},
    {"GET", "/openapi.json", {}, RouteKind::openapi},
    {"GET", "/openrpc.json", {}, RouteKind::openrpc},
    {"GET", "/", {}, RouteKind::front},
    {"GET", "/console/", {}, RouteKind::console},
    {"GET", "/console/{digest}/{file}", {}, RouteKind::console_file, 200, {}, nullptr, true},
}};

// Returns the parameters in the path; nullopt if the path doesn't match the route.
std::optional<PathParams> path_params(const Route& route,
                                      const std::vector<std::string>& segments) {
  PathParams params;
  std::size_t next = 0;
  std::string_view rest = route.path.substr(1);
  while (!rest.empty()) {
    const std::size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
    if (next == segments.size()) return std::nullopt;
    if (part.front() != '{') {
      if (segments[next++] != part) return std::nullopt;
      continue;
    }
    std::string& value = params[std::string(part.substr(1, part.size() - 2))];
    value = segments[next++];
    while (rest.empty() && route.name_has_slashes && next < segments.size()) {
      value += '/' + segments[next++];
    }
  }
  if (next != segments.size()) return std::nullopt;
  return params;
}

}  // namespace

std::span<const Route> routes() { return table; }

RouteMatch match_route(std::string_view verb, const Target& target) {
  RouteMatch match;
  for (const Route& route : table) {
    if (target.ends_with_slash && !route.path.ends_with('/')) continue;
    auto params = path_params(route, target.segments);
    if (!params) continue;
    match.verbs.emplace_back(route.verb);
    if (route.verb == "GET") match.verbs.emplace_back("HEAD");
    if (verb == route.verb || (verb == "HEAD" && route.verb == "GET")) {
      match.route = &route;
      match.params = std::move(*params);
    }
  }
  return match;
}

}  // namespace signalbox
