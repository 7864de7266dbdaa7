#include "tools/console/console_source.h"

#include <utility>

#include <boost/json/serialize.hpp>

#include "server/rpc/error_json.h"
#include "server/transport/http/artifact_download.h"
#include "server/transport/http/console.h"
#include "server/transport/http/content_coding.h"
#include "server/transport/http/problem.h"
#include "server/transport/http/target.h"

namespace signalbox {
namespace {

namespace json = boost::json;

HttpAnswer no_such_part() {
  return problem(404, {ErrorCode::METHOD_NOT_FOUND,
                       "nothing is at this path while no service runs",
                       {},
                       {"signalbox console"}});
}

}  // namespace

void ConsoleSource::answer(const Request& request, const Answered& answered) {
  const auto target = read_target(request.target);
  if (!target) return answered(problem(target.error()));
  const RouteMatch match = match_route(request.verb, *target);
  if (match.route == nullptr) return answered(no_such_part());
  const ConsoleHeaders headers{request.if_none_match, accepts_gzip(request.accept_encoding)};
  switch (match.route->kind) {
    case RouteKind::front:
      return answered(console_front(request.accept));
    case RouteKind::console:
      return answered(console_page(*target, headers));
    case RouteKind::console_file:
      return answered(console_file(match.params.at("digest"), match.params.at("file"), headers));
    case RouteKind::stream: {
      HttpAnswer nothing;
      nothing.status = 204;
      return answered(std::move(nothing));
    }
    case RouteKind::rpc:
      return answer_line(request.body, request.unwanted, [answered](std::string line) {
        HttpAnswer result;
        result.media_type = "application/json";
        result.body = std::move(line);
        answered(std::move(result));
      });
    case RouteKind::download:
      return answered(artifact(match.params));
    case RouteKind::call:
    case RouteKind::output:
    case RouteKind::put:
    case RouteKind::alive:
    case RouteKind::ready:
    case RouteKind::version:
    case RouteKind::openapi:
    case RouteKind::openrpc:
      break;
  }
  answered(no_such_part());
}

std::string ConsoleSource::refusal_line(const json::object& request, const Rejection& rejection) {
  const json::value* const id = request.if_contains("id");
  return json::serialize(json::object{{"jsonrpc", "2.0"},
                                      {"id", id == nullptr ? json::value() : *id},
                                      {"error", rejection_to_json(rejection)}});
}

std::string ConsoleSource::result_line(const json::object& request, json::object result) {
  const json::value* const id = request.if_contains("id");
  return json::serialize(json::object{{"jsonrpc", "2.0"},
                                      {"id", id == nullptr ? json::value() : *id},
                                      {"result", std::move(result)}});
}

HttpAnswer ConsoleSource::artifact_answer(const std::string& name, std::string content) {
  HttpAnswer file;
  file.media_type = "application/octet-stream";
  file.headers = {{"Content-Disposition", content_disposition(name)},
                  {"Content-Security-Policy", "sandbox"}};
  file.body = std::move(content);
  return file;
}

}  // namespace signalbox
