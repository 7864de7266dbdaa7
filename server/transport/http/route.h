// The routes as data: which path and verb stand for which method of the dispatcher, and what of the
// request becomes its params. HTTP is a transport: what a request does is decided by the method.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "server/transport/http/http_answer.h"
#include "server/transport/http/target.h"

namespace signalbox {

enum class RouteKind {
  call,      // one call, one answer
  download,  // run.artifact, and then the file itself
  stream,    // events.subscribe, as server-sent events
  rpc,       // the body is a JSON-RPC request
  alive,     // the rest asks nothing of the dispatcher
  ready,
  version,
  openapi,
};

struct Route {
  std::string_view verb;    // GET (which stands for HEAD, too) or POST
  std::string_view path;    // "/v1/runs/{run_id}"
  std::string_view method;  // of the dispatcher, or empty
  RouteKind kind = RouteKind::call;
  unsigned status = 200;         // of a success
  std::string_view key_param{};  // what Idempotency-Key is called in the params; empty: no such
  // Makes of the result what the route shows; nullptr: the result as it is.
  void (*show)(const Target& target, const boost::json::object& result,
               HttpAnswer& answer) = nullptr;
  bool name_has_slashes = false;  // the last parameter takes the rest of the path
};

std::span<const Route> routes();

using PathParams = std::map<std::string, std::string, std::less<>>;

struct RouteMatch {
  const Route* route = nullptr;    // of this path and verb, or nullptr
  PathParams params;               // of the path
  std::vector<std::string> verbs;  // that the path takes; empty: there is no such path
};

RouteMatch match_route(std::string_view verb, const Target& target);

}  // namespace signalbox
