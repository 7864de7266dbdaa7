// The routes as data: maps a verb and path to a method of the dispatcher, and the parts of the
// request to its params. HTTP is only a transport: the method decides what a request does.
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
  call,      // one call, one response
  download,  // run.artifact, then the file itself
  put,       // project.put, then what project.check says of it
  output,    // run.log, then the bytes themselves
  stream,    // events.subscribe, as server-sent events
  rpc,       // the body is a JSON-RPC request
  alive,     // this and the following kinds don't use the dispatcher
  ready,
  version,
  openapi,
  openrpc,
  front,         // leads a browser to the console
  console,       // the console's page
  console_file,  // what the page is made of
};

struct Route {
  std::string_view verb;  // POST, PUT, or GET, which includes HEAD
  std::string_view path;  // "/v1/runs/{run_id}"; only with a slash at its end may a target have one
  std::string_view method;  // of the dispatcher, or empty
  RouteKind kind = RouteKind::call;
  unsigned status = 200;         // on success
  std::string_view key_param{};  // the param that gets Idempotency-Key; empty: it is ignored
  // Writes the response for a result; nullptr: the result itself is the body.
  void (*show)(const Target& target, const boost::json::object& result,
               HttpAnswer& answer) = nullptr;
  bool name_has_slashes = false;  // the last parameter takes the rest of the path
};

// Returns all routes.
std::span<const Route> routes();

// Decoded path segments by the name of their parameter.
using PathParams = std::map<std::string, std::string, std::less<>>;

struct RouteMatch {
  const Route* route = nullptr;    // nullptr: no route has this path and verb
  PathParams params;               // from the path
  std::vector<std::string> verbs;  // allowed for the path; empty: there is no such path
};

// Finds the route for `verb` (as in the request line) and the target's path.
RouteMatch match_route(std::string_view verb, const Target& target);

}  // namespace signalbox
